package threadkeep

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

func TestBuilders(t *testing.T) {
	call := ToolCall("c1", "weather", `{ "city":"Lisbon" }`)
	for want, built := range map[string]*Event{
		`{"message": {"role": "ROLE_USER", "parts": [{"text": "hi"}]}}`:    User("hi"),
		`{"message": {"role": "ROLE_ASSISTANT", "parts": [{"text": ""}]}}`: Assistant(""),
		`{"message": {"role": "ROLE_SYSTEM", "parts": [{"text": "hi"}]}}`:  System("hi"),
		`{"message": {"role": "ROLE_ASSISTANT", "parts": [{"text": "wait"}, {"tool_call":
			{"id": "c1", "name": "weather", "kind": "function", "arguments_json": "{ \"city\":\"Lisbon\" }"}}]}}`: Assistant("wait", call),
		`{"message": {"role": "ROLE_ASSISTANT", "parts": [{"tool_call":
			{"id": "c1", "name": "weather", "kind": "function", "arguments_json": "{ \"city\":\"Lisbon\" }"}}]}}`: Assistant("", call),
		`{"message": {"role": "ROLE_TOOL", "parts": [{"tool_result":
			{"call_id": "c1", "name": "weather", "parts": [{"text": "sunny"}]}}]}}`: ToolResult("c1", ToolOutput{Name: "weather", Text: "sunny"}),
		`{"message": {"role": "ROLE_TOOL", "parts": [{"tool_result":
			{"call_id": "c1", "structured_json": "{}", "is_error": true}}]}}`: ToolError("c1", json.RawMessage("{}")),
	} {
		wanted := &Event{}
		if err := protojson.Unmarshal([]byte(want), wanted); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(built, wanted) {
			t.Errorf("%v, not %v", built, wanted)
		}
	}
}

func TestToolValuesAreJSONAndTextIsKept(t *testing.T) {
	call := ToolCall("c", "n", map[string]any{"city": "Lisbon"}).GetToolCall().GetArgumentsJson()
	result := ToolResult("c", struct{ Found int }{2}).GetMessage().GetParts()[0].GetToolResult()
	if call != `{"city":"Lisbon"}` || result.GetStructuredJson() != `{"Found":2}` || len(result.GetParts()) != 0 {
		t.Error(call, result)
	}
	empty := ToolResult("c", "").GetMessage().GetParts()[0].GetToolResult()
	if _, text := empty.GetParts()[0].GetContent().(*pb.Part_Text); !text {
		t.Error(empty)
	}
	defer func() {
		if recover() == nil {
			t.Error("a function is no JSON")
		}
	}()
	ToolResult("c", func() {})
}

func TestTextOf(t *testing.T) {
	event := Assistant("one", ToolCall("c", "n", "{}"), Text("two"))
	if text := TextOf(event); text != "one\ntwo" {
		t.Errorf("%q", text)
	}
	if text := TextOf(ToolResult("c", "not searched")) + TextOf(nil) + TextOf(&Event{}); text != "" {
		t.Errorf("%q", text)
	}
}

func TestNewEventIDsAreUUIDsThatSortByTime(t *testing.T) {
	shape := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	begun := time.Date(2026, 11, 21, 19, 0, 0, 0, time.UTC)
	var ids []string
	for i := range 1000 {
		id := eventID(begun.Add(time.Duration(i) * 250 * time.Nanosecond))
		if !shape.MatchString(id) {
			t.Fatal(id)
		}
		ids = append(ids, id)
	}
	if !slices.IsSorted(ids) || ids[0][:13] != "01a1ff7a-cb80" {
		t.Error(ids[:4])
	}
	if eventID(begun) == eventID(begun) {
		t.Error("two of one moment are the same")
	}
}

func TestAppendSetsIDsInCopies(t *testing.T) {
	bare, named := User("a"), User("b")
	named.EventId = "mine"
	given := []*Event{bare, named}
	got := WithIDs(given)
	if bare.EventId != "" || given[0] != bare || got[0] == bare || got[0].EventId == "" || got[1].EventId != "mine" {
		t.Error(got)
	}
	if TextOf(got[0]) != "a" {
		t.Error(got[0])
	}
}

func TestAppendRequests(t *testing.T) {
	var got *pb.AppendEventsRequest
	s := &script{appendEvents: func(_ context.Context, r *pb.AppendEventsRequest) (*pb.AppendEventsResponse, error) {
		got = r
		return &pb.AppendEventsResponse{}, nil
	}}
	session := serve(t, s).Session("s1")
	if _, err := session.Append(t.Context(), []*Event{User("a")}, WithCreateIfMissing(WithTTL(time.Hour)), IgnoreExisting(), Expect(LastEventID(""))); err != nil {
		t.Fatal(err)
	}
	_, last := got.Precondition.(*pb.AppendEventsRequest_ExpectedLastEventId)
	if got.CreateIfMissing.GetExpiry().GetTtl().GetSeconds() != 3600 || got.IfExists != pb.IfExists_IF_EXISTS_IGNORE || !last {
		t.Error(got)
	}
	if got.GetSession().GetUserId() != "alice" || got.GetEvents()[0].GetEventId() == "" {
		t.Error(got)
	}
	if _, err := session.Append(t.Context(), []*Event{nil}); err != nil {
		t.Error(err) // the server reports the missing fields of an empty event
	}
	if got.Precondition != nil || got.CreateIfMissing != nil || got.IfExists != 0 {
		t.Error(got)
	}
	got = nil
	_, err := session.Append(t.Context(), []*Event{User("a")}, Expect(LogVersion(0)), Expect(LastEventID("")))
	if err == nil || errors.As(err, new(*Error)) || got != nil {
		t.Error(err, got)
	}
}
