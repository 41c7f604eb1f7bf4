package threadkeep

import (
	"context"
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
				WithCreateTime(time.Unix(5, 0)), WithReturnExisting())
			return err
		}, `expiry: {ttl: {seconds: 60}} labels: {key: "team" value: "eu"} metadata_json: "{\"a\":1}" context_bytes: 9
			create_time: {seconds: 5} return_existing: true`},
		"replace": {func() error {
			_, err := trip.Update(ctx, WithLabels(nil), WithMetadata(""), WithContextBytes(0), WithoutExpiry())
			return err
		}, `update_mask: {paths: "expiry" paths: "metadata_json" paths: "labels" paths: "context_bytes"} expiry: {never_expires: true}`},
		"patch": {func() error {
			_, err := trip.Update(ctx, PatchMetadata(`{"a": null}`), SetLabels(labels), RemoveLabels("d"), WithETag("e1"))
			return err
		}, `metadata_patch_json: "{\"a\": null}" set_labels: {key: "team" value: "eu"} remove_labels: "d" etag: "e1"`},
		"delete": {func() error {
			_, err := trip.Delete(ctx, PurgeMemories())
			return err
		}, `purge_memories: true`},
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
