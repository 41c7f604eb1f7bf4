package langchaingo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/prompts"
	"github.com/tmc/langchaingo/schema"
	"github.com/tmc/langchaingo/tools"

	"github.com/threadkeep/threadkeep-go/integrations/langchaingo"
	"github.com/threadkeep/threadkeep-go/internal/adaptertest"
)

// script is a model: it calls the tools, then answers. It keeps the prompts that it was given.
type script struct {
	calls   []llms.ToolCall
	prompts []string
}

func (s *script) GenerateContent(
	_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption,
) (*llms.ContentResponse, error) {
	last := messages[len(messages)-1]
	if last.Role == llms.ChatMessageTypeTool {
		return &llms.ContentResponse{Choices: []*llms.ContentChoice{{Content: "It is warm."}}}, nil
	}
	s.prompts = append(s.prompts, fmt.Sprint(messages[1].Parts[0]))
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{ToolCalls: s.calls}}}, nil
}

func (s *script) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, s, prompt, options...)
}

type weather struct{ asked func() }

func (weather) Name() string        { return "weather" }
func (weather) Description() string { return "The weather in a city." }
func (w weather) Call(_ context.Context, city string) (string, error) {
	if w.asked != nil {
		w.asked()
	}
	return "21 degrees in " + city, nil
}

func executorOf(model llms.Model, memory schema.Memory, tool tools.Tool) *agents.Executor {
	past := prompts.NewHumanMessagePromptTemplate("Before: {{.history}}", []string{"history"})
	agent := agents.NewOpenAIFunctionsAgent(model, []tools.Tool{tool},
		agents.NewOpenAIOption().WithExtraMessages([]prompts.MessageFormatter{past}))
	return agents.NewExecutor(agent, agents.WithMemory(memory), agents.WithReturnIntermediateSteps())
}

func TestAgentsTurnIsStoredWithItsToolCallsInOneChange(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	history := langchaingo.New(client, "agent")
	model := &script{calls: []llms.ToolCall{toolCall("c1", "weather", `{"__arg1": "Oslo"}`)}}
	executor := executorOf(model, langchaingo.NewMemory(history), weather{})
	equal(t, must(chains.Run(ctx, executor, "Weather?")), "It is warm.")
	equal(t, must(history.Messages(ctx)), []llms.ChatMessage{
		llms.HumanChatMessage{Content: "Weather?"},
		llms.AIChatMessage{ToolCalls: []llms.ToolCall{toolCall("c1", "weather", `{"__arg1":"Oslo"}`)}},
		llms.ToolChatMessage{ID: "c1", Content: "21 degrees in Oslo"},
		llms.AIChatMessage{Content: "It is warm."},
	})
	equal(t, must(client.Session("agent").EventsPage(ctx)).GetLogVersion(), int64(1))
	must(chains.Run(ctx, executor, "Again?"))
	for _, part := range []string{"Human: Weather?", "c1", "21 degrees in Oslo", "AI: It is warm."} {
		if !strings.Contains(model.prompts[1], part) {
			t.Fatalf("%q is not in %s", part, model.prompts[1])
		}
	}
}

func TestStepsWithoutIdsGetIdsAndParallelCallsStayTogether(t *testing.T) {
	ctx, history := context.Background(), langchaingo.New(adaptertest.Client(t), "steps")
	step := func(log, tool, id, observation string) schema.AgentStep {
		action := schema.AgentAction{Tool: tool, ToolInput: "x", Log: log, ToolID: id}
		return schema.AgentStep{Action: action, Observation: observation}
	}
	steps := []schema.AgentStep{step("1", "a", "c1", "A"), step("1", "b", "c2", "B"), step("", "", "", "not readable"), step("2", "a", "", "C")}
	turn := langchaingo.NewMemory(history)
	check(t, turn.SaveContext(ctx, map[string]any{"input": "q"}, map[string]any{"output": "o", "intermediateSteps": steps}))
	messages := must(history.Messages(ctx))
	equal(t, len(messages), 7)
	equal(t, len(messages[1].(llms.AIChatMessage).ToolCalls), 2)
	last := messages[4].(llms.AIChatMessage).ToolCalls[0]
	equal(t, last.FunctionCall.Arguments, `{"__arg1":"x"}`)
	equal(t, messages[5], llms.ToolChatMessage{ID: last.ID, Content: "C"})
	if last.ID == "" {
		t.Fatal("the call has no id")
	}
}

func TestMemoryTakesKeysAndRefusesValuesAsTheFrameworkDoes(t *testing.T) {
	ctx, history := context.Background(), langchaingo.New(adaptertest.Client(t), "keys")
	turn := langchaingo.NewMemory(history, memory.WithInputKey("question"), memory.WithOutputKey("say"),
		memory.WithMemoryKey("past"), memory.WithReturnMessages(true))
	equal(t, turn.MemoryVariables(ctx), []string{"past"})
	check(t, turn.SaveContext(ctx, map[string]any{"question": "q", "city": "x"}, map[string]any{"say": "a", "score": 1}))
	equal(t, len(must(turn.LoadMemoryVariables(ctx, nil))["past"].([]llms.ChatMessage)), 2)
	for _, outputs := range []map[string]any{{"said": "a"}, {"say": 1}, {"say": "a", "intermediateSteps": 3}} {
		if turn.SaveContext(ctx, map[string]any{"question": "q"}, outputs) == nil {
			t.Fatalf("%v was stored", outputs)
		}
	}
	equal(t, len(must(history.Messages(ctx))), 2)
	check(t, turn.Clear(ctx))
	equal(t, must(history.Messages(ctx)), []llms.ChatMessage{})
}

func TestTurnThatMeetsAKilledServerIsStoredOnce(t *testing.T) {
	server := adaptertest.NewKillable(t)
	ctx, client := context.Background(), server.Client()
	history := langchaingo.New(client, "killed")
	turn := langchaingo.NewMemory(history)
	model := &script{calls: []llms.ToolCall{toolCall("c1", "weather", `{"__arg1": "Oslo"}`)}}
	must(chains.Run(ctx, executorOf(model, turn, weather{}), "First?"))
	restarted := make(chan error, 1)
	tool := weather{func() {
		server.Kill()
		go func() { restarted <- server.Start() }()
	}}
	soon, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	outputs, err := chains.Call(soon, executorOf(model, turn, tool), map[string]any{"input": "Second?"})
	check(t, <-restarted)
	for attempts := 0; err != nil; attempts++ {
		if attempts > 20 {
			t.Fatal(err)
		}
		err = turn.SaveContext(ctx, map[string]any{"input": "Second?"}, outputs)
	}
	equal(t, texts(must(history.Messages(ctx))), []string{
		"First?", "", "21 degrees in Oslo", "It is warm.", "Second?", "", "21 degrees in Oslo", "It is warm.",
	})
}

func TestSameTurnAfterAFailedCallIsStoredOnce(t *testing.T) {
	ctx, history := context.Background(), langchaingo.New(adaptertest.Client(t), "retried")
	turn := langchaingo.NewMemory(history)
	save := func(ctx context.Context) error {
		return turn.SaveContext(ctx, map[string]any{"input": "q"}, map[string]any{"output": "a"})
	}
	short, cancel := context.WithTimeout(ctx, time.Microsecond)
	defer cancel()
	if save(short) == nil {
		t.Fatal("a call without time succeeded")
	}
	check(t, save(ctx))
	equal(t, len(must(history.Messages(ctx))), 2)
	check(t, save(ctx))
	equal(t, len(must(history.Messages(ctx))), 4)
}
