// Agent is an agent of Eino's package adk whose conversation is a session of Threadkeep, and whose interrupted runs are checkpoints
// there: a person approves a booking before it is made. A script replaces the model. THREADKEEP_ADDRESS names the server; default:
// the local one.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/integrations/eino"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client, err := threadkeep.New(threadkeep.Config{App: "examples", UserID: "ada"})
	if err != nil {
		return err
	}
	defer client.Close()
	session := "eino-" + threadkeep.NewEventID()
	history := eino.NewHistory(client, session, eino.WithAuthor("booker"))

	// Another agent, of any framework or language, has written to the session.
	other := threadkeep.Events(threadkeep.User("Where do I go?"), threadkeep.Assistant("Go to Lisbon."))
	if _, err := client.Session(session).Append(ctx, other, threadkeep.WithCreateIfMissing()); err != nil {
		return err
	}
	runner, err := newRunner(ctx, client)
	if err != nil {
		return err
	}
	if err := history.Append(ctx, schema.UserMessage("Book it.")); err != nil {
		return err
	}
	messages, err := history.Messages(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("the agent reads %d messages\n", len(messages))
	if err := store(ctx, history, runner.Run(ctx, messages, adk.WithCheckPointID(session))); err != nil {
		return err
	}
	fmt.Println("approved, and resumed by a new runner")
	if runner, err = newRunner(ctx, client); err != nil {
		return err
	}
	events, err := runner.Resume(ctx, session)
	if err != nil {
		return err
	}
	return store(ctx, history, events)
}

// store appends each message of a run to the session, and prints it.
func store(ctx context.Context, history *eino.History, events *adk.AsyncIterator[*adk.AgentEvent]) error {
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Err != nil {
			return event.Err
		}
		if event.Action != nil && event.Action.Interrupted != nil {
			fmt.Println("interrupted:", event.Action.Interrupted.InterruptContexts[0].Info)
		}
		message, _, err := adk.GetMessage(event)
		if err != nil {
			return err
		}
		if message == nil {
			continue
		}
		if err := history.Append(ctx, message); err != nil {
			return err
		}
		fmt.Println(message.Role, message.Content, len(message.ToolCalls), "calls")
	}
	return nil
}

// newRunner returns a runner that shares nothing with others but the server.
func newRunner(ctx context.Context, client *threadkeep.Client) (*adk.Runner, error) {
	type trip struct {
		City string `json:"city"`
	}
	book, err := utils.InferTool("book", "Books a trip.", func(ctx context.Context, trip trip) (string, error) {
		if interrupted, _, _ := compose.GetInterruptState[any](ctx); !interrupted {
			return "", compose.Interrupt(ctx, "may I book "+trip.City+"?")
		}
		return "booked " + trip.City, nil
	})
	if err != nil {
		return nil, err
	}
	tools := adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{book}}}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "booker", Description: "Books trips.", Model: script{}, ToolsConfig: tools,
	})
	if err != nil {
		return nil, err
	}
	return adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: eino.NewCheckPointStore(client)}), nil
}

// script replaces the model: it calls the tool, then says what it returned.
type script struct{}

func (script) Generate(_ context.Context, input []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	if last := input[len(input)-1]; last.Role == schema.Tool {
		return schema.AssistantMessage("I have "+last.Content+".", nil), nil
	}
	function := schema.FunctionCall{Name: "book", Arguments: `{"city": "Lisbon"}`}
	return schema.AssistantMessage("", []schema.ToolCall{{ID: "call_1", Type: "function", Function: function}}), nil
}

func (s script) Stream(
	ctx context.Context, input []*schema.Message, options ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	message, err := s.Generate(ctx, input, options...)
	return schema.StreamReaderFromArray([]*schema.Message{message}), err
}

func (s script) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return s, nil }
