package threadkeep

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// same fails the test unless the message equals the text form.
func same[M proto.Message](t *testing.T, name, want string, got M) {
	t.Helper()
	wanted := got.ProtoReflect().New().Interface()
	if err := prototext.Unmarshal([]byte(want), wanted); err != nil {
		t.Fatal(err)
	}
	if !proto.Equal(got, wanted) {
		t.Errorf("%s: %v, not %v", name, got, wanted)
	}
}

func TestRequestWithEmptyAppOrUserUsesTheClients(t *testing.T) {
	type options = []ScopeOption
	for name, each := range map[string]struct {
		app   *string
		user  string
		opts  options
		wants string
	}{
		"labels alone":          {wants: `app: "shop" user_id: "alice"`},
		"another user":          {user: "bob", wants: `app: "shop" user_id: "bob"`},
		"another app":           {app: proto.String("travel"), wants: `app: "travel" user_id: "alice"`},
		"no app":                {app: proto.String(""), wants: `app: "" user_id: "alice"`},
		"all users":             {opts: options{AllUsers()}, wants: `app: "shop"`},
		"all apps":              {opts: options{AllApps()}, wants: `user_id: "alice"`},
		"all":                   {opts: options{AllUsers(), AllApps()}},
		"all, but what is said": {app: proto.String(""), user: "bob", opts: options{AllUsers(), AllApps()}, wants: `app: "" user_id: "bob"`},
	} {
		labels := map[string]string{"team": "red"}
		listed := &threadkeepv1.ListSessionsRequest{App: each.app, UserId: each.user, Labels: labels}
		scope := &threadkeepv1.ChangeScope{App: each.app, UserId: each.user, Labels: labels}
		var gotList *threadkeepv1.ListSessionsRequest
		var gotScope *threadkeepv1.ChangeScope
		var gotDelete *threadkeepv1.DeleteExpiredSessionsRequest
		client := serve(t, &script{
			sessions: func(r *threadkeepv1.ListSessionsRequest) { gotList = r },
			watchAll: func(r *threadkeepv1.WatchAllRequest, _ grpc.ServerStreamingServer[threadkeepv1.WatchAllResponse]) error {
				gotScope = r.GetScope()
				return refusal(3, InvalidField, nil)
			},
			deleteExpired: func(r *threadkeepv1.DeleteExpiredSessionsRequest) { gotDelete = r },
		})
		for _, err := range client.ListSessions(t.Context(), listed, each.opts...) {
			t.Error(name, err)
		}
		watched := make([]WatchOption, len(each.opts))
		for i, option := range each.opts {
			watched[i] = option
		}
		for range client.WatchAll(t.Context(), &threadkeepv1.WatchAllRequest{Scope: scope}, watched...) {
		}
		expired := &threadkeepv1.DeleteExpiredSessionsRequest{App: each.app, UserId: each.user}
		if _, err := client.DeleteExpiredSessions(t.Context(), expired, each.opts...); err != nil {
			t.Error(name, err)
		}
		labeled := each.wants + ` labels: {key: "team" value: "red"}`
		same(t, name+", list", labeled, gotList)
		same(t, name+", watch", labeled, gotScope)
		same(t, name+", deletion", each.wants, gotDelete)
		if listed.App != each.app || listed.UserId != each.user || scope.App != each.app || scope.UserId != each.user {
			t.Error(name, "the caller's request was changed")
		}
	}
}

func TestSearchWithEmptyAppOrUserUsesTheClients(t *testing.T) {
	for name, each := range map[string]struct {
		scope string
		opts  []ScopeOption
		wants string
	}{
		"nothing":                               {wants: `user: {app: "shop" user_id: "alice"}`},
		"another user":                          {scope: `user: {user_id: "bob"}`, wants: `user: {app: "shop" user_id: "bob"}`},
		"no app":                                {scope: `user: {app: ""}`, wants: `user: {app: "" user_id: "alice"}`},
		"an app":                                {scope: `app: {app: "travel"}`, wants: `app: {app: "travel"}`},
		"a session":                             {scope: `session: {session_id: "s1"}`, wants: `session: {session_id: "s1"}`},
		"all users":                             {opts: []ScopeOption{AllUsers()}, wants: `app: {app: "shop"}`},
		"all users, no app":                     {scope: `user: {app: ""}`, opts: []ScopeOption{AllUsers()}, wants: `app: {}`},
		"all users, but one":                    {scope: `user: {user_id: "bob"}`, opts: []ScopeOption{AllUsers()}, wants: `user: {app: "shop" user_id: "bob"}`},
		"all apps":                              {opts: []ScopeOption{AllApps()}, wants: `user: {user_id: "alice"}`},
		"all of both, which the server refuses": {opts: []ScopeOption{AllUsers(), AllApps()}, wants: `user: {}`},
	} {
		given := &threadkeepv1.SearchEventsRequest{}
		if err := prototext.Unmarshal([]byte(each.scope+` query: "x"`), given); err != nil {
			t.Fatal(err)
		}
		before := proto.CloneOf(given)
		var got *threadkeepv1.SearchEventsRequest
		client := serve(t, &script{search: func(r *threadkeepv1.SearchEventsRequest) { got = r }})
		for _, err := range client.Search(context.Background(), given, each.opts...) {
			t.Error(name, err)
		}
		same(t, name, each.wants+` query: "x"`, got)
		if !proto.Equal(given, before) {
			t.Error(name, "the caller's request was changed")
		}
	}
}
