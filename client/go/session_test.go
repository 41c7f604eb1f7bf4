package threadkeep

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// recorder is a server that answers every unary call with an empty message, or with the next answer, and keeps the requests.
type recorder struct {
	requests []proto.Message
	answers  []proto.Message
}

func (r *recorder) handle(_ any, stream grpc.ServerStream) error {
	name, _ := grpc.MethodFromServerStream(stream)
	method := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(name, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(method)
	if err != nil {
		return err
	}
	descriptor := found.(protoreflect.MethodDescriptor)
	request := messageOf(descriptor.Input())
	if err := stream.RecvMsg(request); err != nil {
		return err
	}
	r.requests = append(r.requests, request)
	answer := messageOf(descriptor.Output())
	if len(r.answers) > 0 {
		answer, r.answers = r.answers[0], r.answers[1:]
	}
	return stream.SendMsg(answer)
}

func messageOf(descriptor protoreflect.MessageDescriptor) proto.Message {
	found, err := protoregistry.GlobalTypes.FindMessageByName(descriptor.FullName())
	if err != nil {
		panic(err)
	}
	return found.New().Interface()
}

// last returns the last request.
func (r *recorder) last() proto.Message { return r.requests[len(r.requests)-1] }

func record(t *testing.T, opts ...func(*Config)) (*recorder, *Client) {
	t.Helper()
	r := &recorder{}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnknownServiceHandler(r.handle))
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return r, connected(t, listener.Addr().String(), opts...)
}

const tripRef = `session: {app: "shop" user_id: "alice" session_id: "trip"} `

func TestSessionLifecycleRequests(t *testing.T) {
	server, client := record(t)
	trip, ctx := client.Session("trip"), t.Context()
	labels := map[string]string{"team": "eu"}
	for name, each := range map[string]struct {
		call func() error
		want string
	}{
		"create": {func() error {
			_, err := trip.Create(ctx, WithTTL(time.Minute), WithLabels(labels), WithMetadata(map[string]int{"a": 1}), WithContextBytes(9),
				WithCreateTime(time.Unix(5, 0)), WithParent(&pb.SessionParent{Uid: "u", AtSeq: 2}), WithReturnExisting())
			return err
		}, `expiry: {ttl: {seconds: 60}} labels: {key: "team" value: "eu"} metadata_json: "{\"a\":1}" context_bytes: 9
			create_time: {seconds: 5} parent: {uid: "u" at_seq: 2} return_existing: true`},
		"replace": {func() error {
			_, err := trip.Update(ctx, WithLabels(nil), WithMetadata(""), WithContextBytes(0), WithoutExpiry())
			return err
		}, `update_mask: {paths: "expiry" paths: "metadata_json" paths: "labels" paths: "context_bytes"} expiry: {never_expires: true}`},
		"patch": {func() error {
			_, err := trip.Update(ctx, PatchMetadata(`{"a": null}`), SetLabels(labels), RemoveLabels("d"), WithETag("e1"), WithOperationID("u1"))
			return err
		}, `metadata_patch_json: "{\"a\": null}" set_labels: {key: "team" value: "eu"} remove_labels: "d" etag: "e1" operation_id: "u1"`},
		"delete": {func() error {
			_, err := trip.Delete(ctx, PurgeMemories(), WithUID("u1"))
			return err
		}, `purge_memories: true uid: "u1"`},
		"event":  {func() error { _, err := trip.GetEvent(ctx, "e1"); return err }, `event_id: "e1"`},
		"page":   {func() error { _, err := trip.EventsPage(ctx, NewestFirst(), WithPageToken("t")); return err }, `order: SORT_ORDER_DESCENDING page_token: "t"`},
		"search": {func() error { _, err := trip.SearchPage(ctx, "x", Hybrid(), WithNeighbors(2), BySession()); return err }, `query: "x" mode: SEARCH_MODE_HYBRID neighbors: 2 grouping: HIT_GROUPING_SESSION`},
		"tool":   {func() error { _, err := trip.CallTool(ctx, "n", nil); return err }, `name: "n"`},
		"replace events": {func() error {
			_, err := trip.ReplaceEvents(ctx, nil, 3, WithActor("me"), DryRun())
			return err
		}, `expected_log_version: 3 actor: "me" dry_run: true`},
		"compact": {func() error {
			_, err := trip.Compact(ctx, WithStrategy(TurnWindow(2)), WithTrigger(TurnsOver(5)), WithBranch("b"), DryRun())
			return err
		}, `strategy: {turn_window: {max_turns: 2}} trigger: {turns_over: 5} branch: "b" dry_run: true`},
		"pop": {func() error {
			_, err := trip.Pop(ctx, 2, WithBranch(""), EraseRemoved(), Expect(LogVersion(3)), WithOperationID("p1"))
			return err
		}, `count: 2 branch: "" mode: REMOVAL_MODE_ERASE expected_log_version: 3 operation_id: "p1"`},
		"clear": {func() error {
			_, err := trip.Clear(ctx, Expect(LogVersion(4)), WithOperationID("c1"))
			return err
		}, `expected_log_version: 4 operation_id: "c1"`},
		"erase": {func() error {
			_, err := trip.EraseEvents(ctx, []string{"e1"}, WithOperationID("x1"))
			return err
		}, `event_ids: "e1" operation_id: "x1"`},
		"suffix": {func() error {
			_, err := trip.ReplaceSuffix(ctx, []string{"e1", "e2"}, nil, WithBranch("b"), WithOperationID("s1"))
			return err
		}, `expected_event_ids: "e1" expected_event_ids: "e2" branch: "b" operation_id: "s1"`},
		"load": {func() error {
			_, err := trip.Load(ctx, WithFilter(Filter{LastN: 2}), NewestFirst(), WithStateScopes(pb.StateScope_STATE_SCOPE_APP), WithNewestEvent())
			return err
		}, `filter: {last_n: 2} order: SORT_ORDER_DESCENDING state_scopes: STATE_SCOPE_APP with_newest_event: true`},
		"load context": {func() error {
			_, err := trip.Load(ctx, LoadContext(MemoryProvider{}))
			return err
		}, `spec: {}`},
		"branches": {func() error { _, err := trip.BranchesPage(ctx, WithPageSize(5)); return err }, `page_size: 5`},
		"usage": {func() error {
			_, err := trip.UsagePage(ctx, WithBranch(""), BetweenSeqs(3, 0), WithPageToken("t"))
			return err
		}, `branch: "" after_seq: 3 page_token: "t"`},
		"append with state": {func() error {
			_, err := trip.Append(ctx, nil, ReplaceExisting(), EraseRemoved(), WithOperationID("a1"), ChangeState(map[string]any{"cart": 3}, "draft"),
				ChangeAppState(map[string]any{"n": json.RawMessage("1e400")}), WithCreateIfMissing(WithState(map[string]any{"seat": "window"})))
			return err
		}, `if_exists: IF_EXISTS_REPLACE replaced: REMOVAL_MODE_ERASE operation_id: "a1" create_if_missing: {state: {key: "seat" value: "\"window\""}}
			state_delta: {session: {set: {key: "cart" value: "3"} remove: "draft"} app: {set: {key: "n" value: "1e400"}}}`},
	} {
		if err := each.call(); err != nil {
			t.Error(name, err)
		}
		same(t, name, tripRef+each.want, server.last())
	}
	server.requests = nil
	if _, err := trip.Create(ctx, WithTTL(1), WithoutExpiry()); err == nil || len(server.requests) > 0 {
		t.Error("two expiries")
	}
	if _, err := trip.Update(ctx, WithMetadata(func() {})); err == nil || len(server.requests) > 0 {
		t.Error("no JSON")
	}
	for name, call := range map[string]func() error{
		"a removal expects a version":        func() error { _, err := trip.Pop(ctx, 1, Expect(LastEventID("e"))); return err },
		"an append expects no state version": func() error { _, err := trip.Append(ctx, nil, Expect(StateVersion(1))); return err },
		"a patch expects a state version": func() error {
			_, err := trip.State().Patch(ctx, map[string]any{"a": 1}, Expect(LogVersion(1)))
			return err
		},
		"a value has a JSON form": func() error { _, err := trip.State().Patch(ctx, map[string]any{"f": func() {}}); return err },
	} {
		if err := call(); err == nil || len(server.requests) > 0 {
			t.Error(name, err)
		}
	}
}

func TestStateIsOfOneVersionAlthoughOthersChangeIt(t *testing.T) {
	server, client := record(t)
	page := func(version int64, next string, values map[string]string) proto.Message {
		return &pb.GetStateResponse{State: &pb.State{Version: version, Values: values}, NextKey: next}
	}
	server.answers = []proto.Message{
		page(1, "a", map[string]string{"a": "1"}), page(2, "", map[string]string{"b": "2"}),
		page(2, "b", map[string]string{"a": "3", "b": "9007199254740993"}), page(2, "", map[string]string{"c": "null"}),
	}
	st, err := client.Session("trip").State().Get(t.Context(), WithKeys("a", "b", "c"))
	if err != nil || st.Version != 2 || len(st.Values) != 3 || len(server.requests) != 4 {
		t.Fatal(st, err, server.requests)
	}
	var number int64
	if found, err := st.Decode("b", &number); !found || err != nil || number != 9007199254740993 {
		t.Error(found, err, number)
	}
	if found, err := st.Decode("d", &number); found || err != nil {
		t.Error("there is no d", err)
	}
	same(t, "last page", tripRef+`scope: STATE_SCOPE_SESSION keys: "a" keys: "b" keys: "c" after_key: "b"`, server.last())
	server.answers = []proto.Message{page(5, "a", map[string]string{"a": "1"}), page(6, "", map[string]string{"b": "2"})}
	if st, err = client.Session("trip").State().Get(t.Context(), AsOfLogVersion(0), WithKeyPrefix("k")); err != nil || len(st.Values) != 2 {
		t.Error("the past does not change:", st, err)
	}
}

func TestPatchIsOfItsScope(t *testing.T) {
	server, client := record(t)
	for want, handle := range map[string]*StateHandle{
		`scope: STATE_SCOPE_SESSION ` + tripRef:                           client.Session("trip").State(),
		`scope: STATE_SCOPE_USER session: {app: "shop" user_id: "alice"}`: client.UserState(),
		`scope: STATE_SCOPE_USER session: {user_id: "bob"}`:               client.UserState(WithApp(""), WithUser("bob")),
		`scope: STATE_SCOPE_APP session: {app: "shop"}`:                   client.AppState(),
		`scope: STATE_SCOPE_APP session: {app: "bank"}`:                   client.AppState(WithApp("bank")),
	} {
		server.answers = []proto.Message{&pb.PatchStateResponse{Version: 4}}
		version, err := handle.Patch(t.Context(), map[string]any{"cart": map[string]int{"items": 3}}, RemoveKeys("draft"), Expect(StateVersion(3)))
		if err != nil || version != 4 {
			t.Error(version, err)
		}
		same(t, want, want+` patch: {set: {key: "cart" value: "{\"items\":3}"} remove: "draft"} expected_version: 3`, server.last())
	}
}

func TestUserEventsAreThoseOfTheClientsUser(t *testing.T) {
	server, client := record(t)
	server.answers = []proto.Message{
		&pb.ListUserEventsResponse{NextPageToken: "more"},
		&pb.ListUserEventsResponse{Events: []*pb.UserEvent{{Event: User("a")}}},
	}
	count := 0
	for item, err := range client.UserEvents(t.Context(), WithFilter(Filter{Keyword: "a"})) {
		if err != nil || TextOf(item.GetEvent()) != "a" {
			t.Error(item, err)
		}
		count++
	}
	if count != 1 {
		t.Error(count)
	}
	same(t, "own", `app: "shop" user_id: "alice" filter: {keyword: "a"} page_token: "more"`, server.last())
	if _, err := client.UserEventsPage(t.Context(), WithUser("bob"), AnyApp(), WithPageSize(5)); err != nil {
		t.Error(err)
	}
	same(t, "another", `user_id: "bob" page_size: 5`, server.last())
}

func TestUsersAreThoseOfTheClientsApp(t *testing.T) {
	server, client := record(t)
	server.answers = []proto.Message{
		&pb.ListUsersResponse{Users: []*pb.UserRef{{UserId: "a"}}, NextPageToken: "more"},
		&pb.ListUsersResponse{Users: []*pb.UserRef{{UserId: "b"}}},
	}
	var found []string
	for user, err := range client.Users(t.Context(), WithPageSize(1)) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, user.GetUserId())
	}
	if len(found) != 2 || found[0] != "a" || found[1] != "b" {
		t.Error(found)
	}
	same(t, "own", `app: "shop" page_size: 1 page_token: "more"`, server.last())
	for want, option := range map[string]ScopedByApp{`app: "desk" page_size: 5`: WithApp("desk"), `page_size: 5`: AnyApp()} {
		if _, err := client.UsersPage(t.Context(), option, WithPageSize(5)); err != nil {
			t.Error(err)
		}
		same(t, want, want, server.last())
	}
}

func TestErasureRepeatsUntilNothingIsLeft(t *testing.T) {
	server, client := record(t)
	for _, more := range []bool{true, true, false} {
		server.answers = append(server.answers, &pb.DeleteByLabelResponse{Receipt: &pb.ErasureReceipt{DeletedSessions: int64(len(server.answers))}, More: more})
	}
	var progress []int64
	receipt, err := client.DeleteByLabel(t.Context(), map[string]string{"a": "b"}, PurgeMemories(), WithRequestID("r"),
		WithProgress(func(r *pb.ErasureReceipt) { progress = append(progress, r.GetDeletedSessions()) }))
	if err != nil || receipt.GetDeletedSessions() != 2 || !slices.Equal(progress, []int64{0, 1, 2}) || len(server.requests) != 3 {
		t.Error(receipt, err, progress)
	}
	same(t, "labels", `labels: {key: "a" value: "b"} app: "shop" user_id: "alice" purge_memories: true request_id: "r"`, server.last())
	if _, err := client.DeleteUser(t.Context(), "bob", AnyApp()); err != nil {
		t.Error(err)
	}
	same(t, "user", `user_id: "bob"`, server.last())
	if _, err := client.DeleteApp(t.Context(), ""); err != nil {
		t.Error(err)
	}
	same(t, "app", `app: ""`, server.last())
}

func TestHandleThatDoesNotWriteDropsAppendsAndSaysSo(t *testing.T) {
	var lines strings.Builder
	server, client := record(t, func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(&lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	trip := client.Session("trip")
	for _, provider := range []MemoryProvider{ReadOnly(), None()} {
		critic := trip.WithMemory(provider)
		response, err := critic.Append(t.Context(), Events(User("no")))
		if err != nil || !response.Dropped || response.GetLogVersion() != 0 {
			t.Error(response, err)
		}
		batches, count := [][]*Event{{User("no")}, {User("no")}}, int64(0)
		for result, err := range critic.AppendStream(t.Context(), slices.Values(batches)) {
			if err != nil || !result.Appended.Dropped || result.Index != count {
				t.Error(result, err)
			}
			count++
		}
		if count != 2 {
			t.Error(count)
		}
	}
	if len(server.requests) > 0 || strings.Count(lines.String(), "an append is dropped") != 4 {
		t.Error(server.requests, lines.String())
	}
	written, err := trip.WithMemory(WriteOnly()).Append(t.Context(), Events(User("yes")))
	if err != nil || written.Dropped || len(server.requests) != 1 {
		t.Error(written, err)
	}
}

func TestContextIsThatOfTheHandleUnlessAnotherIsGiven(t *testing.T) {
	server, client := record(t)
	planner := client.Session("trip").WithMemory(LimitedWindow().MaxTurns(3))
	for want, provider := range map[string][]MemoryProvider{
		`spec: {mode: CONTEXT_MODE_READ_WRITE max_turns: 3}`: nil,
		`spec: {mode: CONTEXT_MODE_READ_ONLY max_turns: 5}`:  {ReadOnly().MaxTurns(5)},
	} {
		if _, err := planner.GetContext(t.Context(), provider...); err != nil {
			t.Error(err)
		}
		same(t, want, tripRef+want, server.last())
	}
	if _, err := planner.GetContext(t.Context(), None(), None()); err == nil {
		t.Error("two providers")
	}
}

func TestPoliciesAreOfTheirScope(t *testing.T) {
	server, client := record(t)
	for want, handle := range map[string]*PolicyHandle{
		`session: {app: "shop" user_id: "alice" session_id: "trip"}`: client.Session("trip").Policy(),
		`user: {user_id: "alice" app: "shop"}`:                       client.UserPolicy(),
		`user: {user_id: "bob"}`:                                     client.UserPolicy(WithUser("bob"), AnyApp()),
		`app: "shop"`:                                                client.AppPolicy("shop"),
		`server: true`:                                               client.ServerPolicy(),
	} {
		pipeline := Pipeline(TrimToolResults(0, 9), RecursiveSummary(nil))
		if err := handle.Set(t.Context(), Policy(AnyOf(TurnsOver(50), TokensAtLeast(9)), pipeline)); err != nil {
			t.Error(err)
		}
		same(t, want, `scope: {`+want+`} policy: {trigger: {any_of: {triggers: {turns_over: 50} triggers: {tokens: 9}}}
			strategy: {pipeline: {steps: {trim_tool_results: {keep_turns: 0 min_tokens: 9}} steps: {recursive_summary: {}}}}}`, server.last())
		if err := handle.Remove(t.Context()); err != nil {
			t.Error(err)
		}
		same(t, want, `scope: {`+want+`}`, server.last())
		if _, err := handle.Get(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestStrategiesThatArePlannedElsewhereHaveAName(t *testing.T) {
	same(t, "webhook", `webhook: {name: "summaries"}`, Webhook("summaries"))
	same(t, "consumer", `consumer: {name: "compactor"}`, CompactedBy("compactor"))
}

func TestPlanIsAppliedWithItsSummary(t *testing.T) {
	server, client := record(t)
	plan := planned("d")
	for _, summary := range []string{"one", "two"} { // the plan stays as it is
		_, err := client.Session("trip").ApplyCompaction(t.Context(), plan, summary, Expect(LogVersion(5)), WithCompactionID("c"))
		request := server.last().(*pb.ApplyCompactionRequest)
		if err != nil || TextOf(request.GetInserts()[0].GetEvents()[1]) != summary || request.GetExpectedLogVersion() != 5 || request.GetCompactionId() != "c" {
			t.Error(request, err)
		}
	}
	for _, options := range [][]ApplyOption{{}, {Expect(LastEventID("e"))}} {
		if _, err := client.Session("trip").ApplyCompaction(context.Background(), plan, " ", options...); err == nil || errors.As(err, new(*Error)) {
			t.Error("blank, or not a version:", err)
		}
	}
}
