package threadkeep_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/threadkeep/threadkeep-go"
	threadkeepv1 "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// TestMain leaves out the examples, which need a server, unless THREADKEEP_ADDRESS specifies one.
func TestMain(m *testing.M) {
	flag.Parse()
	if skip := flag.Lookup("test.skip"); os.Getenv("THREADKEEP_ADDRESS") == "" && skip.Value.String() == "" {
		_ = skip.Value.Set("^Example")
	}
	m.Run()
}

// connected returns a client with a user of its own, so that every run prints the same.
func connected() *threadkeep.Client {
	client, err := threadkeep.New(threadkeep.Config{App: "example-" + threadkeep.NewEventID(), UserID: "alice"})
	check(err)
	return client
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleSessionHandle() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	trip := client.Session("trip")
	created, err := trip.Create(ctx, threadkeep.WithTTL(30*24*time.Hour), threadkeep.WithLabels(map[string]string{"team": "eu"}))
	check(err)
	fmt.Println("created:", created.GetCreated())
	updated, err := trip.Update(ctx, threadkeep.SetLabels(map[string]string{"priority": "high"}),
		threadkeep.PatchMetadata(map[string]any{"title": "Lisbon"}), threadkeep.WithETag(created.GetSession().GetEtag()))
	check(err)
	fmt.Println(len(updated.GetLabels()), updated.GetMetadataJson())
	deleted, err := trip.Delete(ctx)
	check(err)
	_, err = trip.Get(ctx)
	fmt.Println(deleted.GetDeleted(), errors.Is(err, threadkeep.ErrSessionNotFound))
	// Output:
	// created: true
	// 2 {"title": "Lisbon"}
	// true true
}

func ExampleClient_Sessions() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	for id, team := range map[string]string{"a": "eu", "b": "us"} {
		_, err := client.Session(id).Create(ctx, threadkeep.WithLabels(map[string]string{"team": team}))
		check(err)
	}
	for session, err := range client.Sessions(ctx, threadkeep.WithLabels(map[string]string{"team": "us"})) {
		check(err)
		fmt.Println(session.GetRef().GetSessionId())
	}
	// Output: b
}

func ExampleSessionHandle_Append() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	trip := client.Session("trip")
	said := threadkeep.Events(
		threadkeep.User("On time?"),
		threadkeep.Assistant("Let me look.", threadkeep.ToolCall("c1", "arrival", map[string]string{"flight": "BA117"})),
		threadkeep.ToolResult("c1", map[string]string{"at": "18:40"}),
	)
	_, err := trip.Append(ctx, said, threadkeep.WithCreateIfMissing())
	check(err)
	_, err = trip.Append(ctx, threadkeep.Events(threadkeep.User("Hello?")), threadkeep.Expect(threadkeep.LogVersion(0)))
	fmt.Println(errors.Is(err, threadkeep.ErrVersionMismatch))
	users := threadkeep.Filter{Roles: []threadkeepv1.Role{threadkeep.RoleUser}}
	for event, err := range trip.Events(ctx, threadkeep.WithFilter(users.Merge(threadkeep.Filter{LastN: 10}))) {
		check(err)
		fmt.Println(event.GetSeq(), threadkeep.TextOf(event))
	}
	// Output:
	// true
	// 1 On time?
}

func ExampleClient_AppendStream() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	var batches []threadkeep.Batch
	for _, id := range []string{"a", "b"} {
		batches = append(batches, threadkeep.Batch{Session: client.Session(id), Events: threadkeep.Events(threadkeep.User("hi"))})
	}
	for result, err := range client.AppendStream(ctx, slices.Values(batches), threadkeep.WithCreateIfMissing()) {
		check(err)
		fmt.Println(result.Index, result.Err, result.Appended.GetLogVersion())
	}
	// Output:
	// 0 <nil> 1
	// 1 <nil> 1
}

func ExampleMemoryProvider() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	trip := client.Session("trip")
	planned, criticized := threadkeep.Assistant("Plan A."), threadkeep.Assistant("No!")
	planned.AuthorRole, criticized.AuthorRole = "planner", "critic"
	_, err := trip.Append(ctx, threadkeep.Events(threadkeep.User("Well?"), planned, criticized), threadkeep.WithCreateIfMissing())
	check(err)
	authors := threadkeep.Authors{}.Include(threadkeep.Roles("planner"))
	seen, err := trip.GetContext(ctx, threadkeep.LimitedWindow().Filtered(authors).MaxTurns(10))
	check(err)
	critic := trip.WithMemory(threadkeep.ReadOnly())
	appended, err := critic.Append(ctx, threadkeep.Events(threadkeep.User("I only read.")))
	check(err)
	fmt.Println(len(seen.GetEvents()), appended.Dropped)
	// Output: 1 true
}

func ExampleSessionHandle_Watch() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	trip := client.Session("trip")
	_, err := trip.Append(ctx, threadkeep.Events(threadkeep.User("hi")), threadkeep.WithCreateIfMissing())
	check(err)
	for change, err := range trip.Watch(ctx, threadkeep.From(threadkeep.Beginning)) {
		check(err)
		if events := change.GetBatch().GetEvents(); len(events) > 0 {
			fmt.Println(threadkeep.TextOf(events[0]))
			break // ends the call
		}
	}
	// Output: hi
}

func ExampleConsumerHandle_Run() {
	ctx, cancel := context.WithCancel(context.Background())
	client := connected()
	defer client.Close()
	consumer := client.Consumer("indexer-" + threadkeep.NewEventID())
	for _, text := range []string{"good", "poison"} {
		_, err := client.Session(text).Append(ctx, threadkeep.Events(threadkeep.User(text)), threadkeep.WithCreateIfMissing())
		check(err)
	}
	var settled atomic.Int32
	err := consumer.Run(ctx, func(_ context.Context, d *threadkeep.Delivery) error {
		events := d.Change.GetBatch().GetEvents()
		if len(events) == 0 {
			return nil // a session was created
		}
		if settled.Add(1) == 2 {
			defer time.AfterFunc(time.Second, cancel) // a program would run on
		}
		if threadkeep.TextOf(events[0]) == "poison" {
			return threadkeep.Park("cannot be indexed")
		}
		return nil
	}, threadkeep.FromOldest(), threadkeep.WithConcurrency(8))
	check(err)
	for parked, err := range consumer.Parked(context.Background()) {
		check(err)
		fmt.Println("parked:", parked.GetReason())
	}
	_, err = consumer.Delete(context.Background())
	check(err)
	// Output: parked: cannot be indexed
}

func ExamplePolicyHandle() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	trip := client.Session("trip")
	_, err := trip.Create(ctx)
	check(err)
	check(trip.Policy().Set(ctx, threadkeep.Policy(threadkeep.TurnsOver(50), threadkeep.TurnWindow(20))))
	policy, err := trip.Policy().Get(ctx)
	check(err)
	fmt.Println(policy.GetPolicy().GetTrigger().GetTurnsOver())
	check(trip.Policy().Remove(ctx))
	// Output: 50
}

func ExampleSessionHandle_CompactWith() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	trip := client.Session("trip")
	for range 4 {
		said := threadkeep.Events(threadkeep.User("Again?"), threadkeep.Assistant("Yes."))
		_, err := trip.Append(ctx, said, threadkeep.WithCreateIfMissing())
		check(err)
	}
	summarize := func(context.Context, *threadkeepv1.SummaryPrompt) (string, error) {
		return "They repeat themselves.", nil
	}
	keep := &threadkeepv1.RecursiveSummary{MaxEventsToKeep: 4}
	applied, err := trip.CompactWith(ctx, summarize, threadkeep.WithStrategy(threadkeep.RecursiveSummary(keep)))
	check(err)
	fmt.Println(applied.GetApplied(), applied.GetCompaction().GetArchivedEvents())
	// Output: true 4
}

func ExampleUserMemory() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	memory := client.Memory()
	_, err := memory.Add(ctx, threadkeep.Remember("Prefers a window seat."))
	check(err)
	found, err := memory.Search(ctx, "window seat", threadkeep.WithTopK(1))
	check(err)
	fmt.Println(threadkeep.TextOfMemory(found.GetEntries()[0]))
	// Output: Prefers a window seat.
}

func ExampleSessionHandle_CallTool() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	trip := client.Session("trip")
	_, err := trip.Append(ctx, threadkeep.Events(threadkeep.User("BA117 is late.")), threadkeep.WithCreateIfMissing())
	check(err)
	tools, err := client.Tools(ctx)
	check(err)
	result, err := trip.CallTool(ctx, "conversation_search", map[string]string{"query": "BA117"})
	check(err)
	fmt.Println(len(tools) > 0, result.GetIsError())
	// Output: true false
}

func ExampleStateHandle() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	trip := client.Session("trip")
	_, err := trip.Create(ctx, threadkeep.WithState(map[string]any{"cart": map[string]int{"items": 1}}))
	check(err)
	state, err := trip.State().Get(ctx)
	check(err)
	_, err = trip.State().Patch(ctx, map[string]any{"gift": nil}, threadkeep.RemoveKeys("cart"), threadkeep.Expect(state.Version))
	check(err)
	_, err = trip.State().Patch(ctx, map[string]any{"gift": "book"}, threadkeep.Expect(state.Version))
	fmt.Println(errors.Is(err, threadkeep.ErrVersionMismatch))
	_, err = trip.Append(ctx, threadkeep.Events(threadkeep.Assistant("Booked.")), threadkeep.ChangeUserState(map[string]any{"trips": 1}))
	check(err)
	user, err := client.UserState().Get(ctx)
	check(err)
	fmt.Println(string(user.Values["trips"]))
	// Output:
	// true
	// 1
}

func ExampleSessionHandle_Pop() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	trip := client.Session("trip")
	question, draft := threadkeep.User("Hi"), threadkeep.Assistant("Hello!")
	question.EventId, draft.EventId = "m1", "m2"
	said := threadkeep.Events(question, draft, threadkeep.User("Forget it"))
	_, err := trip.Append(ctx, said, threadkeep.WithCreateIfMissing())
	check(err)
	popped, err := trip.Pop(ctx, 1)
	check(err)
	fmt.Println(threadkeep.TextOf(popped.GetEvents()[0]))
	replaced, err := trip.ReplaceSuffix(ctx, []string{"m2"}, threadkeep.Events(threadkeep.Assistant("Hello, Alice!")))
	check(err)
	cleared, err := trip.Clear(ctx, threadkeep.Expect(threadkeep.LogVersion(replaced.GetLogVersion())))
	check(err)
	fmt.Println(replaced.GetRemoved(), cleared.GetRemoved())
	// Output:
	// Forget it
	// 1 2
}

func ExampleSessionHandle_Fork() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	trip := client.Session("trip")
	said := threadkeep.Events(threadkeep.User("To Oslo"), threadkeep.Assistant("When?"), threadkeep.User("Tomorrow"))
	_, err := trip.Append(ctx, said, threadkeep.WithCreateIfMissing())
	check(err)
	forked, err := trip.Fork(ctx, "again", threadkeep.At(threadkeep.Seq(2)), threadkeep.WithLabels(map[string]string{"kind": "retry"}))
	check(err)
	parent := forked.GetSession().GetParent()
	fmt.Println(parent.GetSession().GetSessionId(), parent.GetAtSeq(), forked.GetSession().GetLabels())
	for session, err := range client.Sessions(ctx, threadkeep.ForkedFrom("trip")) {
		check(err)
		fmt.Println(session.GetRef().GetSessionId())
	}
	// Output:
	// trip 2 map[kind:retry]
	// again
}

func ExampleSessionHandle_Rewind() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	trip := client.Session("trip")
	said := threadkeep.Events(threadkeep.User("To Oslo"), threadkeep.Assistant("When?"), threadkeep.User("Tomorrow"))
	_, err := trip.Append(ctx, said, threadkeep.WithCreateIfMissing())
	check(err)
	_, err = trip.Clear(ctx)
	check(err)
	rewound, err := trip.Rewind(ctx, threadkeep.Seq(2))
	check(err)
	fmt.Println(rewound.GetRestored(), rewound.GetWindow().GetEvents())
	// Output: 2 2
}

func ExampleUserMemory_Upsert() {
	ctx, client := context.Background(), connected()
	defer client.Close()
	memory := client.Memory()
	for _, text := range []string{"Window seat.", "Aisle seat."} {
		seat := threadkeep.Remember(text, threadkeep.WithMemoryID("seat"), threadkeep.InNamespace("prefs", "travel"))
		seat.MetadataJson = `{"stars": 4}`
		written, err := memory.Upsert(ctx, threadkeep.Writes(seat))
		check(err)
		fmt.Println(written.GetMemories()[0].GetOutcome())
	}
	good := threadkeep.MemoryFilter{Conditions: []threadkeep.MemoryCondition{{Key: "stars", Operator: threadkeep.Greater, Value: 3}}}
	for entry, err := range memory.List(ctx, threadkeep.WithMemoryFilter(good)) {
		check(err)
		fmt.Println(threadkeep.TextOfMemory(entry))
	}
	// Output:
	// MEMORY_WRITE_OUTCOME_ADDED
	// MEMORY_WRITE_OUTCOME_REPLACED
	// Aisle seat.
}
