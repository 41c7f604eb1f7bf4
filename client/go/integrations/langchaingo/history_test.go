package langchaingo_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/memory"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/integrations/langchaingo"
	"github.com/threadkeep/threadkeep-go/internal/adaptertest"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

func must[V any](value V, err error) V {
	if err != nil {
		panic(err)
	}
	return value
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t *testing.T, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %#v\nwant %#v", got, want)
	}
}

func toolCall(id, name, arguments string) llms.ToolCall {
	return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: arguments}}
}

func texts(messages []llms.ChatMessage) (found []string) {
	for _, message := range messages {
		found = append(found, message.GetContent())
	}
	return found
}

var everyType = []llms.ChatMessage{
	llms.SystemChatMessage{Content: "Be brief."},
	llms.HumanChatMessage{Content: "Weather in Lisbon? \u0000 🌞 <&>"},
	llms.HumanChatMessage{},
	llms.AIChatMessage{Content: "I look.", ReasoningContent: "One call.", ToolCalls: []llms.ToolCall{
		toolCall("c1", "weather", `{"city":  "Lisbon"}`), toolCall("c2", "weather", "not JSON"), {ID: "c3", Type: "custom"},
	}},
	llms.ToolChatMessage{ID: "c1", Content: "21 degrees"},
	llms.ToolChatMessage{ID: "c2", Content: ""},
	llms.ToolChatMessage{ID: "c3", Content: "done"},
	llms.AIChatMessage{FunctionCall: &llms.FunctionCall{Name: "old", Arguments: "{}"}},
	llms.FunctionChatMessage{Name: "old", Content: "result"},
	llms.GenericChatMessage{Content: "Me too.", Role: "user", Name: "bob"},
	llms.AIChatMessage{Content: "It is 21 degrees."},
}

func TestMessagesOfEveryTypeComeBackEqual(t *testing.T) {
	ctx, history := context.Background(), langchaingo.New(adaptertest.Client(t), "all")
	equal(t, must(history.Messages(ctx)), []llms.ChatMessage{})
	for _, message := range everyType {
		check(t, history.AddMessage(ctx, message))
	}
	check(t, history.AddUserMessage(ctx, "Thanks."))
	check(t, history.AddAIMessage(ctx, "Welcome."))
	want := append(slices.Clone(everyType), llms.HumanChatMessage{Content: "Thanks."}, llms.AIChatMessage{Content: "Welcome."})
	equal(t, must(history.Messages(ctx)), want)
}

func TestMessageBehindAPointerIsItsValueAndNilIsRefused(t *testing.T) {
	ctx, history := context.Background(), langchaingo.New(adaptertest.Client(t), "pointers")
	check(t, history.AddMessage(ctx, &llms.AIChatMessage{Content: "a", ToolCalls: []llms.ToolCall{toolCall("c", "n", "{}")}}))
	for _, none := range []llms.ChatMessage{nil, (*llms.HumanChatMessage)(nil)} {
		if history.AddMessage(ctx, none) == nil {
			t.Fatal("nil was stored")
		}
	}
	want := []llms.ChatMessage{llms.AIChatMessage{Content: "a", ToolCalls: []llms.ToolCall{toolCall("c", "n", "{}")}}}
	equal(t, must(history.Messages(ctx)), want)
}

func TestContentsOfEveryPartComeBackEqual(t *testing.T) {
	ctx, history := context.Background(), langchaingo.New(adaptertest.Client(t), "contents")
	contents := []llms.MessageContent{
		llms.TextParts(llms.ChatMessageTypeSystem, "Be brief."),
		{Role: llms.ChatMessageTypeHuman, Parts: []llms.ContentPart{
			llms.TextPart("And this?"), llms.ImageURLWithDetailPart("https://example.com/a.png", "low"),
			llms.BinaryPart("image/png", []byte{0, 1, 255}),
		}},
		{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.TextPart("I look."), toolCall("c1", "see", `{"a": 1}`)}},
		{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCallResponse{ToolCallID: "c1", Name: "see", Content: "a cat"}}},
	}
	check(t, history.AddContents(ctx, contents...))
	equal(t, must(history.Contents(ctx)), contents)
	equal(t, must(history.Messages(ctx)), []llms.ChatMessage{
		llms.SystemChatMessage{Content: "Be brief."},
		llms.HumanChatMessage{Content: "And this?"},
		llms.AIChatMessage{Content: "I look.", ToolCalls: []llms.ToolCall{toolCall("c1", "see", `{"a": 1}`)}},
		llms.ToolChatMessage{ID: "c1", Content: "a cat"},
	})
}

func TestTypedPartsOfMessagesAreComplete(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	history := langchaingo.New(client, "typed", langchaingo.WithAuthor("guide"))
	check(t, history.AddMessages(ctx, everyType...))
	var events []*threadkeep.Event
	for event, err := range client.Session("typed").Events(ctx) {
		check(t, err)
		events = append(events, event)
	}
	ai := events[3]
	equal(t, ai.GetMessage().GetRole(), pb.Role_ROLE_ASSISTANT)
	equal(t, ai.GetAuthor(), "guide")
	equal(t, ai.GetMessage().GetParts()[0].GetReasoning().GetText(), "One call.")
	equal(t, threadkeep.TextOf(ai), "I look.")
	equal(t, ai.GetMessage().GetParts()[2].GetToolCall().GetArgumentsJson(), `{"city":  "Lisbon"}`)
	equal(t, events[4].GetMessage().GetParts()[0].GetToolResult().GetCallId(), "c1")
	equal(t, events[9].GetAuthor(), "bob")
}

func TestMessagesOfOthersAreReadWithCallsOfAStepTogether(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	call := func(id string) *threadkeep.Part {
		return threadkeep.ToolCall(id, "weather", map[string]string{"city": id})
	}
	_, err := client.Session("others").Append(ctx, threadkeep.Events(
		threadkeep.User("Compare."),
		threadkeep.NewEvent(pb.Role_ROLE_ASSISTANT, threadkeep.Reasoning("Two calls.")),
		threadkeep.Assistant("I look."),
		threadkeep.Assistant("", call("a")), threadkeep.Assistant("", call("b")),
		threadkeep.ToolResult("a", "21"), threadkeep.ToolError("b", threadkeep.ToolOutput{JSON: map[string]int{"code": 5}}),
		threadkeep.Assistant("Done."), threadkeep.Assistant("Really."),
	), threadkeep.WithCreateIfMissing())
	check(t, err)
	history := langchaingo.New(client, "others")
	calls := []llms.ToolCall{toolCall("a", "weather", `{"city":"a"}`), toolCall("b", "weather", `{"city":"b"}`)}
	equal(t, must(history.Messages(ctx)), []llms.ChatMessage{
		llms.HumanChatMessage{Content: "Compare."},
		llms.AIChatMessage{Content: "I look.", ReasoningContent: "Two calls.", ToolCalls: calls},
		llms.ToolChatMessage{ID: "a", Content: "21"}, llms.ToolChatMessage{ID: "b", Content: `{"code":5}`},
		llms.AIChatMessage{Content: "Done."}, llms.AIChatMessage{Content: "Really."},
	})
	equal(t, must(history.Contents(ctx))[2].Parts[0], llms.ToolCallResponse{ToolCallID: "a", Name: "weather", Content: "21"})
}

func TestMessageOfANewerVersionIsReadFromItsParts(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	event := threadkeep.Assistant("Hello.")
	event.Native = &pb.NativeContent{Format: langchaingo.MessageFormat, Content: []byte(`{"type":"ai","data":{"content":"x","mood":"good"}}`)}
	_, err := client.Session("newer").Append(ctx, threadkeep.Events(event), threadkeep.WithCreateIfMissing())
	check(t, err)
	equal(t, must(langchaingo.New(client, "newer").Messages(ctx)), []llms.ChatMessage{llms.AIChatMessage{Content: "Hello."}})
}

func TestFirstMessagesOfManyWritersAreAllStored(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	var writers sync.WaitGroup
	for i := range 16 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			if err := langchaingo.New(client, "first").AddUserMessage(ctx, fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		}()
	}
	writers.Wait()
	equal(t, len(must(langchaingo.New(client, "first").Messages(ctx))), 16)
}

func TestClearRemovesMessagesAndKeepsTheSession(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	history := langchaingo.New(client, "clear", langchaingo.WithCreate(threadkeep.WithLabels(map[string]string{"team": "a"})))
	check(t, history.Clear(ctx))
	check(t, history.AddUserMessage(ctx, "Hello."))
	check(t, history.Clear(ctx))
	equal(t, must(history.Messages(ctx)), []llms.ChatMessage{})
	equal(t, must(client.Session("clear").Get(ctx)).GetLabels(), map[string]string{"team": "a"})
	check(t, history.AddUserMessage(ctx, "Again."))
	equal(t, texts(must(history.Messages(ctx))), []string{"Again."})
}

func TestSetMessagesKeepsEventsAndArchivesTheRest(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	history := langchaingo.New(client, "set")
	check(t, history.SetMessages(ctx, []llms.ChatMessage{llms.HumanChatMessage{Content: "1"}, llms.AIChatMessage{Content: "2"}}))
	check(t, history.AddMessages(ctx, llms.HumanChatMessage{Content: "1"}, llms.AIChatMessage{Content: "3"}))
	messages := must(history.Messages(ctx))
	check(t, history.SetMessages(ctx, append(messages[1:], llms.HumanChatMessage{Content: "4"})))
	equal(t, texts(must(history.Messages(ctx))), []string{"2", "1", "3", "4"})
	var archived, kept []int64
	for event, err := range client.Session("set").Events(ctx) {
		check(t, err)
		if event.GetArchived() {
			archived = append(archived, event.GetSeq())
		} else {
			kept = append(kept, event.GetSeq())
		}
	}
	equal(t, archived, []int64{1})
	equal(t, kept, []int64{2, 3, 4, 5})
	check(t, history.SetMessages(ctx, nil))
	equal(t, must(history.Messages(ctx)), []llms.ChatMessage{})
}

func TestSetMessagesBetweenACallAndItsResultIsDone(t *testing.T) {
	ctx, history := context.Background(), langchaingo.New(adaptertest.Client(t), "pair")
	check(t, history.AddMessages(ctx, everyType[1], everyType[3], everyType[4], everyType[5], everyType[6]))
	check(t, history.SetMessages(ctx, must(history.Messages(ctx))[2:]))
	equal(t, must(history.Messages(ctx)), everyType[4:7])
}

func TestSetMessagesKeepsWhatOthersAppendedSince(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	mine, other := langchaingo.New(client, "since"), langchaingo.New(client, "since")
	check(t, mine.AddMessages(ctx, llms.HumanChatMessage{Content: "1"}, llms.AIChatMessage{Content: "2"}))
	messages := must(mine.Messages(ctx))
	check(t, mine.AddUserMessage(ctx, "my own, which is replaced"))
	check(t, other.AddUserMessage(ctx, "3"))
	check(t, mine.SetMessages(ctx, messages[1:]))
	equal(t, texts(must(mine.Messages(ctx))), []string{"2", "3"})
}

func TestMemoryProviderLimitsReadsAndDropsWrites(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	for i := range 4 {
		check(t, langchaingo.New(client, "provider").AddUserMessage(ctx, fmt.Sprint(i)))
	}
	last := langchaingo.New(client, "provider", langchaingo.WithMemory(threadkeep.LimitedWindow().MaxTurns(2)))
	equal(t, texts(must(last.Messages(ctx))), []string{"2", "3"})
	reader := langchaingo.New(client, "provider", langchaingo.WithMemory(threadkeep.ReadOnly()))
	check(t, reader.AddUserMessage(ctx, "dropped"))
	check(t, reader.SetMessages(ctx, nil))
	check(t, reader.Clear(ctx))
	equal(t, len(must(reader.Messages(ctx))), 4)
	equal(t, must(langchaingo.New(client, "none", langchaingo.WithMemory(threadkeep.LimitedWindow())).Messages(ctx)), []llms.ChatMessage{})
}

func TestMemoriesOfTheFrameworkWorkOverTheHistory(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	window := memory.NewConversationWindowBuffer(1, memory.WithChatHistory(langchaingo.New(client, "window")))
	buffer := memory.NewConversationBuffer(memory.WithChatHistory(langchaingo.New(client, "buffer")), memory.WithReturnMessages(true))
	for i := range 3 {
		for _, each := range []interface {
			SaveContext(context.Context, map[string]any, map[string]any) error
		}{window, buffer} {
			check(t, each.SaveContext(ctx, map[string]any{"input": fmt.Sprint("q", i)}, map[string]any{"output": fmt.Sprint("a", i)}))
		}
	}
	equal(t, must(window.LoadMemoryVariables(ctx, nil))["history"], "Human: q2\nAI: a2")
	equal(t, len(must(buffer.LoadMemoryVariables(ctx, nil))["history"].([]llms.ChatMessage)), 6)
	check(t, buffer.Clear(ctx))
	equal(t, must(langchaingo.New(client, "buffer").Messages(ctx)), []llms.ChatMessage{})
}
