// Agent is the loop of an agent whose memory is a session: it reads the context, computes an answer, and appends it. A rule
// replaces the model. A subscription watches the session at the same time. THREADKEEP_ADDRESS specifies the server; default:
// the local one.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client, err := threadkeep.New(threadkeep.Config{App: "travel", UserID: "alice"})
	if err != nil {
		return err
	}
	defer client.Close()
	session := client.Session("agent-" + threadkeep.NewEventID())

	followed := make(chan error, 1)
	go func() { followed <- follow(ctx, session) }()
	if err := answer(ctx, session, "How warm is it in Lisbon?"); err != nil {
		return err
	}
	return <-followed
}

// answer runs the agent until it has answered the user's message.
func answer(ctx context.Context, session *threadkeep.SessionHandle, question string) error {
	if _, err := session.Append(ctx, []*threadkeep.Event{threadkeep.User(question)}, threadkeep.WithCreateIfMissing()); err != nil {
		return err
	}
	for {
		seen, err := session.GetContext(ctx)
		if err != nil {
			return err
		}
		said, calls := think(seen.GetEvents())
		next := []*threadkeep.Event{said}
		for _, call := range calls {
			next = append(next, use(call))
		}
		// The precondition fails if anyone wrote since the context was read; the agent would answer without those events.
		_, err = session.Append(ctx, next, threadkeep.Expect(threadkeep.LogVersion(seen.GetLogVersion())))
		if errors.Is(err, threadkeep.ErrVersionMismatch) {
			continue
		}
		if err != nil || len(calls) == 0 {
			return err
		}
	}
}

// think replaces the model: it returns the answer to a context, with tool calls.
func think(events []*threadkeep.Event) (*threadkeep.Event, []*threadkeepv1.ToolCallPart) {
	last := events[len(events)-1]
	if result := last.GetMessage().GetParts()[0].GetToolResult(); result != nil {
		return threadkeep.Assistant("It is " + result.GetParts()[0].GetText() + " in Lisbon."), nil
	}
	call := threadkeep.ToolCall("c1", "temperature", json.RawMessage(`{"city": "Lisbon"}`))
	return threadkeep.Assistant("", call), []*threadkeepv1.ToolCallPart{call.GetToolCall()}
}

// use runs a tool. Report a failure to the model with threadkeep.AsError.
func use(call *threadkeepv1.ToolCallPart) *threadkeep.Event {
	return threadkeep.ToolResult(call.GetId(), threadkeep.ToolOutput{Name: call.GetName(), Text: "21 degrees"})
}

// follow prints the messages and returns after the answer.
func follow(ctx context.Context, session *threadkeep.SessionHandle) error {
	for change, err := range session.Watch(ctx, threadkeep.From(threadkeep.Beginning)) {
		if err != nil {
			return err
		}
		for _, event := range change.GetBatch().GetEvents() {
			fmt.Println(event.GetSeq(), describe(event))
			if event.GetMessage().GetRole() == threadkeepv1.Role_ROLE_ASSISTANT && threadkeep.TextOf(event) != "" {
				return nil
			}
		}
	}
	return nil
}

func describe(event *threadkeep.Event) string {
	switch part := event.GetMessage().GetParts()[0].GetContent().(type) {
	case *threadkeepv1.Part_ToolCall:
		return "calls " + part.ToolCall.GetName() + " " + part.ToolCall.GetArgumentsJson()
	case *threadkeepv1.Part_ToolResult:
		return "result " + part.ToolResult.GetParts()[0].GetText()
	}
	if event.GetMessage().GetRole() == threadkeepv1.Role_ROLE_USER {
		return "user " + threadkeep.TextOf(event)
	}
	return "assistant " + threadkeep.TextOf(event)
}
