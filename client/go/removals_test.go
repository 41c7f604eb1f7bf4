package threadkeep

import (
	"errors"
	"testing"
	"time"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

func TestRequestsThatNamePointsOrPartsOfTheLog(t *testing.T) {
	server, client := record(t)
	trip, ctx := client.Session("trip"), t.Context()
	labels := map[string]string{"team": "eu"}
	for name, each := range map[string]struct {
		call func() error
		want string
	}{
		"fork": {func() error {
			_, err := trip.Fork(ctx, "again", At(InvocationID("i1")), WithTTL(time.Minute), WithMetadata(""), WithLabels(labels),
				WithoutParentLabels(), WithContextBytes(0), WithOperationID("f1"))
			return err
		}, `new_session_id: "again" at_invocation_id: "i1" expiry: {ttl: {seconds: 60}} metadata_json: "" labels: {key: "team" value: "eu"}
			without_parent_labels: true context_bytes: 0 operation_id: "f1"`},
		"move": {func() error {
			_, err := trip.Move(ctx, "bob", WithOperationID("m1"))
			return err
		}, `new_user_id: "bob" operation_id: "m1"`},
		"fork of the present": {func() error {
			_, err := trip.Fork(ctx, "", WithOperationID("f2"))
			return err
		}, `operation_id: "f2"`},
		"rewind to a seq": {func() error {
			_, err := trip.Rewind(ctx, Seq(2), EraseRemoved(), Expect(LogVersion(9)), WithOperationID("r1"))
			return err
		}, `at_seq: 2 mode: REMOVAL_MODE_ERASE expected_log_version: 9 operation_id: "r1"`},
		"rewind to an event": {func() error {
			_, err := trip.Rewind(ctx, EventID("e1"), WithOperationID("r2"))
			return err
		}, `at_event_id: "e1" operation_id: "r2"`},
		"rewind to a version": {func() error {
			_, err := trip.Rewind(ctx, LogVersion(0), Always(), WithOperationID("r3"))
			return err
		}, `at_log_version: 0 always: true operation_id: "r3"`},
		"rewind to nothing": {func() error {
			_, err := trip.Rewind(ctx, nil, WithOperationID("r4"))
			return err
		}, `operation_id: "r4"`},
		"erase invocations": {func() error {
			_, err := trip.EraseEvents(ctx, nil, OfInvocations("i1", "i2"), WithOperationID("x2"))
			return err
		}, `invocation_ids: "i1" invocation_ids: "i2" operation_id: "x2"`},
		"erase a branch": {func() error {
			_, err := trip.EraseEvents(ctx, nil, WithBranch("b"), WithOperationID("x3"))
			return err
		}, `branch: "b" operation_id: "x3"`},
	} {
		if err := each.call(); err != nil {
			t.Error(name, err)
		}
		same(t, name, tripRef+each.want, server.last())
	}
	if _, err := client.SessionsPage(ctx, WithStates(), ForkedFrom("trip")); err != nil {
		t.Error(err)
	}
	same(t, "sessions", `app: "shop" user_id: "alice" with_state: true forked_from: "trip"`, server.last())
	server.requests = nil
	_, rewound := trip.Rewind(ctx, Seq(1), Expect(LastEventID("e")))
	_, forked := trip.Fork(ctx, "", WithTTL(1), WithoutExpiry())
	if rewound == nil || forked == nil || len(server.requests) > 0 {
		t.Error("a rewind expects a version, and a fork has one expiry:", rewound, forked)
	}
}

func TestRemovalHasAnOperationIDOfItsOwn(t *testing.T) {
	server, client := record(t)
	trip, ctx := client.Session("trip"), t.Context()
	_, popped := trip.Pop(ctx, 1)
	_, cleared := trip.Clear(ctx)
	_, erased := trip.EraseEvents(ctx, []string{"e1"})
	_, rewound := trip.Rewind(ctx, Seq(1))
	_, forked := trip.Fork(ctx, "again")
	_, replaced := trip.ReplaceSuffix(ctx, nil, Events(User("a")))
	if err := errors.Join(popped, cleared, erased, rewound, forked, replaced); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, request := range server.requests {
		id := request.(interface{ GetOperationId() string }).GetOperationId()
		if len(id) != 36 || seen[id] {
			t.Error(request)
		}
		seen[id] = true
	}
	if r := server.last().(*pb.ReplaceSuffixRequest); r.Branch != nil || len(r.GetEvents()[0].GetEventId()) != 36 {
		t.Error(r)
	}
}
