package threadkeep

import (
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
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

func TestCallCoversTheClientsUserAndAppUnlessItSaysAnother(t *testing.T) {
	type options = []Scoped
	for name, each := range map[string]struct {
		opts  options
		wants string
	}{
		"nothing":               {wants: `app: "shop" user_id: "alice"`},
		"another user":          {opts: options{WithUser("bob")}, wants: `app: "shop" user_id: "bob"`},
		"another app":           {opts: options{WithApp("travel")}, wants: `app: "travel" user_id: "alice"`},
		"no app":                {opts: options{WithApp("")}, wants: `app: "" user_id: "alice"`},
		"any user":              {opts: options{AnyUser()}, wants: `app: "shop"`},
		"any app":               {opts: options{AnyApp()}, wants: `user_id: "alice"`},
		"any":                   {opts: options{AnyUser(), AnyApp()}},
		"any, but what is said": {opts: options{WithApp(""), WithUser("bob"), AnyUser(), AnyApp()}, wants: `app: "" user_id: "bob"`},
	} {
		var gotList *pb.ListSessionsRequest
		var gotScope *pb.ChangeScope
		var gotDelete *pb.DeleteExpiredSessionsRequest
		client := serve(t, &script{
			sessions: func(r *pb.ListSessionsRequest) { gotList = r },
			watchAll: func(r *pb.WatchAllRequest, _ grpc.ServerStreamingServer[pb.WatchAllResponse]) error {
				gotScope = r.GetScope()
				return refusal(3, ErrInvalidField, nil)
			},
			deleteExpired: func(r *pb.DeleteExpiredSessionsRequest) { gotDelete = r },
		})
		labels := WithLabels(map[string]string{"team": "red"})
		listed, watched, expired := []SessionsOption{labels}, []WatchAllOption{labels}, []ExpiredOption{}
		for _, option := range each.opts {
			listed, watched, expired = append(listed, option), append(watched, option), append(expired, option)
		}
		for _, err := range client.Sessions(t.Context(), listed...) {
			t.Error(name, err)
		}
		for range client.WatchAll(t.Context(), watched...) {
		}
		if _, err := client.DeleteExpiredSessions(t.Context(), expired...); err != nil {
			t.Error(name, err)
		}
		labeled := each.wants + ` labels: {key: "team" value: "red"}`
		same(t, name+", list", labeled, gotList)
		same(t, name+", watch", labeled, gotScope)
		same(t, name+", deletion", each.wants, gotDelete)
	}
}

func TestSearchCoversTheClientsUserAndAppUnlessItSaysAnother(t *testing.T) {
	for name, each := range map[string]struct {
		opts  []SearchOption
		wants string
	}{
		"nothing":          {wants: `user: {app: "shop" user_id: "alice"}`},
		"another user":     {opts: []SearchOption{WithUser("bob")}, wants: `user: {app: "shop" user_id: "bob"}`},
		"no app":           {opts: []SearchOption{WithApp("")}, wants: `user: {app: "" user_id: "alice"}`},
		"any user":         {opts: []SearchOption{AnyUser()}, wants: `app: {app: "shop"}`},
		"any user, no app": {opts: []SearchOption{AnyUser(), WithApp("")}, wants: `app: {}`},
		"any app":          {opts: []SearchOption{AnyApp()}, wants: `user: {user_id: "alice"}`},
	} {
		var got *pb.SearchEventsRequest
		client := serve(t, &script{search: func(r *pb.SearchEventsRequest) { got = r }})
		for _, err := range client.Search(t.Context(), "x", each.opts...) {
			t.Error(name, err)
		}
		same(t, name, each.wants+` query: "x"`, got)
		for _, err := range client.Session("s1").Search(t.Context(), "x", each.opts...) {
			t.Error(name, err)
		}
		same(t, name+", session", `session: {app: "shop" user_id: "alice" session_id: "s1"} query: "x"`, got)
	}
	for _, err := range connected(t, "127.0.0.1:1").Search(t.Context(), "x", AnyUser(), AnyApp()) {
		if err == nil || errors.As(err, new(*Error)) {
			t.Error("any user of any app:", err)
		}
	}
}
