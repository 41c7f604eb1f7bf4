// Agent is an agent of langchaingo whose conversation is a session of Threadkeep. Another agent, of any framework or language, takes
// a turn in the same session. A script replaces the model. THREADKEEP_ADDRESS names the server; default: the local one.
package main

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"
	"github.com/tmc/langchaingo/tools"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/integrations/langchaingo"
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
	session := "langchaingo-" + threadkeep.NewEventID()
	history := langchaingo.New(client, session, langchaingo.WithAuthor("guide"))

	past := prompts.NewHumanMessagePromptTemplate("The conversation so far:\n{{.history}}", []string{"history"})
	agent := agents.NewOpenAIFunctionsAgent(script{}, []tools.Tool{weather{}},
		agents.NewOpenAIOption().WithExtraMessages([]prompts.MessageFormatter{past}))
	executor := agents.NewExecutor(agent,
		agents.WithMemory(langchaingo.NewMemory(history)), agents.WithReturnIntermediateSteps())

	for _, question := range []string{"How is the weather in Lisbon?", "What did you read?"} {
		answer, err := chains.Run(ctx, executor, question)
		if err != nil {
			return err
		}
		fmt.Println(question, answer)
		other := threadkeep.Events(threadkeep.User("And Oslo?"), threadkeep.Assistant("Oslo has 4 degrees."))
		if _, err := client.Session(session).Append(ctx, other); err != nil {
			return err
		}
	}
	messages, err := history.Messages(ctx)
	if err != nil {
		return err
	}
	for _, message := range messages {
		fmt.Printf("%s: %s%s\n", message.GetType(), message.GetContent(), calls(message))
	}
	return nil
}

func calls(message llms.ChatMessage) (shown string) {
	if ai, ok := message.(llms.AIChatMessage); ok {
		for _, call := range ai.ToolCalls {
			shown += "calls " + call.FunctionCall.Name + call.FunctionCall.Arguments
		}
	}
	return shown
}

// weather is a tool.
type weather struct{}

func (weather) Name() string        { return "weather" }
func (weather) Description() string { return "The weather in a city." }
func (weather) Call(_ context.Context, city string) (string, error) {
	return "21 degrees in " + city, nil
}

// script replaces the model: it calls the tool and repeats its result, or says how many lines of the conversation it was given.
type script struct{}

func (script) GenerateContent(
	_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption,
) (*llms.ContentResponse, error) {
	choice := &llms.ContentChoice{}
	last := messages[len(messages)-1].Parts[0]
	if result, ok := last.(llms.ToolCallResponse); ok {
		choice.Content = "It is " + result.Content + "."
	} else if strings.Contains(fmt.Sprint(last), "weather") {
		function := &llms.FunctionCall{Name: "weather", Arguments: `{"__arg1": "Lisbon"}`}
		choice.ToolCalls = []llms.ToolCall{{ID: "call_1", Type: "function", FunctionCall: function}}
	} else {
		choice.Content = fmt.Sprintf("I read %d messages.", strings.Count(fmt.Sprint(messages[1].Parts[0]), "\n"))
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

func (s script) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, s, prompt, options...)
}
