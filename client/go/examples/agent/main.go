// Agent is the loop of an agent whose memory is a session: read the context, think, append, until there is an answer. A rule stands
// in for the model. Beside the loop a subscription follows the session. The server is that of RECOLLECT_ADDRESS, by default the
// local one.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/recollect-dev/recollect-go"
	"github.com/recollect-dev/recollect-go/recollect/v1"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	memory, err := recollect.New(recollect.Options{App: "travel", UserID: "alice"})
	if err != nil {
		return err
	}
	defer memory.Close()
	session := memory.Session("agent-" + recollect.NewEventID())

	followed := make(chan error, 1)
	go func() { followed <- follow(ctx, session) }()
	if err := answer(ctx, session, "How warm is it in Lisbon?"); err != nil {
		return err
	}
	return <-followed
}

// answer has the agent answer what the user says.
func answer(ctx context.Context, session *recollect.Session, question string) error {
	if _, err := session.Append(ctx, []*recollect.Event{recollect.User(question)}, recollect.Create()); err != nil {
		return err
	}
	for {
		seen, err := session.Context(ctx, nil)
		if err != nil {
			return err
		}
		said, calls := think(seen.GetEvents())
		next := []*recollect.Event{said}
		for _, call := range calls {
			next = append(next, use(call))
		}
		// Nobody else may have written since the context was read: else the agent would answer what it did not see.
		_, err = session.Append(ctx, next, recollect.ExpectLogVersion(seen.GetLogVersion()))
		if errors.Is(err, recollect.VersionMismatch) {
			continue
		}
		if err != nil || len(calls) == 0 {
			return err
		}
	}
}

// think is where a model would be asked: what it says to this context, and the tools that it calls.
func think(events []*recollect.Event) (*recollect.Event, []*recollectv1.ToolCallPart) {
	last := events[len(events)-1]
	if result := last.GetMessage().GetParts()[0].GetToolResult(); result != nil {
		return recollect.Assistant("It is " + result.GetParts()[0].GetText().GetText() + " in Lisbon."), nil
	}
	call := recollect.ToolCall("c1", "temperature", `{"city": "Lisbon"}`)
	return recollect.Assistant("", call), []*recollectv1.ToolCallPart{call.GetToolCall()}
}

// use runs a tool; a failure would be told the model by recollect.AsError.
func use(call *recollectv1.ToolCallPart) *recollect.Event {
	return recollect.ToolResult(call.GetId(), call.GetName(), "21 degrees")
}

// follow prints what is said, and ends with the answer.
func follow(ctx context.Context, session *recollect.Session) error {
	beginning := &recollectv1.WatchSessionRequest{Start: &recollectv1.WatchSessionRequest_AfterSeq{AfterSeq: 0}}
	for change, err := range session.Watch(ctx, beginning) {
		if err != nil {
			return err
		}
		for _, event := range change.GetBatch().GetEvents() {
			fmt.Println(event.GetSeq(), describe(event))
			if event.GetMessage().GetRole() == recollectv1.Role_ROLE_ASSISTANT && recollect.TextOf(event) != "" {
				return nil
			}
		}
	}
	return nil
}

func describe(event *recollect.Event) string {
	switch part := event.GetMessage().GetParts()[0].GetContent().(type) {
	case *recollectv1.Part_ToolCall:
		return "calls " + part.ToolCall.GetName() + " " + part.ToolCall.GetArgumentsJson()
	case *recollectv1.Part_ToolResult:
		return "result " + part.ToolResult.GetParts()[0].GetText().GetText()
	}
	if event.GetMessage().GetRole() == recollectv1.Role_ROLE_USER {
		return "user " + recollect.TextOf(event)
	}
	return "assistant " + recollect.TextOf(event)
}
