// Fleet takes one turn as an agent of langchaingo in a session of the app "fleet" and the user "ada", which agents of other
// frameworks and languages write to. A script replaces the model: it calls one tool, and answers.
//
//	fleet ADDRESS SESSION QUESTION [ANSWER]
//
// It prints each message that the agent read, as langchaingo's own, and then its answer: the ANSWER in « », with the number of
// different texts in « » that were in its prompt. A call waits for a server that is started again.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"regexp"
	"time"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"
	"github.com/tmc/langchaingo/tools"
	"google.golang.org/grpc"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/integrations/langchaingo"
)

func main() {
	if len(os.Args) < 4 {
		log.Fatal("usage: fleet ADDRESS SESSION QUESTION [ANSWER]")
	}
	answer := "Two trams go there."
	if len(os.Args) > 4 {
		answer = os.Args[4]
	}
	if err := turn(context.Background(), os.Args[1], os.Args[2], os.Args[3], answer); err != nil {
		log.Fatal(err)
	}
}

func turn(ctx context.Context, address, session, question, answer string) error {
	client, err := threadkeep.New(threadkeep.Config{
		Address: address, App: "fleet", UserID: "ada", Timeout: 2 * time.Minute,
		Dial: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.WaitForReady(true))},
	})
	if err != nil {
		return err
	}
	defer client.Close()
	history := langchaingo.New(client, session, langchaingo.WithAuthor("driver"))
	messages, err := history.Messages(ctx)
	if err != nil {
		return err
	}
	for _, message := range messages {
		show(message)
	}
	past := prompts.NewHumanMessagePromptTemplate("{{.history}}", []string{"history"})
	agent := agents.NewOpenAIFunctionsAgent(script{answer}, []tools.Tool{trams{}},
		agents.NewOpenAIOption().WithExtraMessages([]prompts.MessageFormatter{past}))
	executor := agents.NewExecutor(agent,
		agents.WithMemory(langchaingo.NewMemory(history)), agents.WithReturnIntermediateSteps())
	said, err := chains.Run(ctx, executor, question)
	if err != nil {
		return err
	}
	fmt.Println("answer:", said)
	return nil
}

// show prints a message: its text, its tool calls, or the result of a call.
func show(message llms.ChatMessage) {
	switch message := message.(type) {
	case llms.ToolChatMessage:
		fmt.Printf("%T returns %s [%s]\n", message, message.Content, message.ID)
		return
	case llms.AIChatMessage:
		if message.Content != "" {
			fmt.Printf("%T: %s\n", message, message.Content)
		}
		for _, call := range message.ToolCalls {
			fmt.Printf("%T calls %s %s [%s]\n", message, call.FunctionCall.Name, call.FunctionCall.Arguments, call.ID)
		}
	default:
		fmt.Printf("%T: %s\n", message, message.GetContent())
	}
}

// trams is a tool.
type trams struct{}

func (trams) Name() string        { return "trams" }
func (trams) Description() string { return "The trams of a city." }
func (trams) Call(_ context.Context, city string) (string, error) {
	return "lines 12 and 28 in " + city, nil
}

// script replaces the model.
type script struct{ answer string }

var answers = regexp.MustCompile("«(.+?)»")

func (s script) GenerateContent(
	_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption,
) (*llms.ContentResponse, error) {
	choice := &llms.ContentChoice{}
	if messages[len(messages)-1].Role == llms.ChatMessageTypeTool {
		read := map[string]bool{}
		for _, found := range answers.FindAllString(fmt.Sprint(messages), -1) {
			read[found] = true
		}
		choice.Content = fmt.Sprintf("«%s» Answers read: %d.", s.answer, len(read))
	} else {
		function := &llms.FunctionCall{Name: "trams", Arguments: `{"__arg1": "Lisbon"}`}
		call := llms.ToolCall{ID: "call_" + threadkeep.NewEventID(), Type: "function", FunctionCall: function}
		choice.ToolCalls = []llms.ToolCall{call}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}, nil
}

func (s script) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, s, prompt, options...)
}
