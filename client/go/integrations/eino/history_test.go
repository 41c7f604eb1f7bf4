package eino_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/integrations/eino"
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
		first, _ := json.Marshal(got)
		second, _ := json.Marshal(want)
		t.Fatalf("got  %s\nwant %s", first, second)
	}
}

func toolCall(id, name, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}

func texts(messages []*schema.Message) (found []string) {
	for _, message := range messages {
		found = append(found, message.Content)
	}
	return found
}

func at(text string) *string { return &text }

func everyKind() []*schema.Message {
	image := schema.MessagePartCommon{URL: at("https://example.com/a.png"), MIMEType: "image/png"}
	sound := schema.MessagePartCommon{Base64Data: at("AAH/"), MIMEType: "audio/wav", Extra: map[string]any{"rate": 16.5}}
	usage := &schema.TokenUsage{
		PromptTokens: 7, CompletionTokens: 5, TotalTokens: 12, PromptTokenDetails: schema.PromptTokenDetails{CachedTokens: 3},
		CompletionTokensDetails: schema.CompletionTokensDetails{ReasoningTokens: 2},
	}
	return []*schema.Message{
		schema.SystemMessage("Be brief."),
		schema.UserMessage("Weather? \u0000 🌞 <&>"),
		{Role: schema.User, Name: "bob", UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "And this?"},
			{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageInputImage{MessagePartCommon: image, Detail: "low"}},
			{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageInputAudio{MessagePartCommon: sound}},
		}},
		{
			Role: schema.Assistant, Content: "I look.", ReasoningContent: "One call.", Extra: map[string]any{"mood": "good"},
			ToolCalls:    []schema.ToolCall{toolCall("c1", "weather", `{"city":  "Lisbon"}`), toolCall("c2", "weather", "not JSON")},
			ResponseMeta: &schema.ResponseMeta{FinishReason: "tool_calls", Usage: usage},
		},
		schema.ToolMessage("21 degrees", "c1", schema.WithToolName("weather")),
		schema.ToolMessage("", "c2"),
		{Role: schema.Assistant, Name: "painter", AssistantGenMultiContent: []schema.MessageOutputPart{
			{Type: schema.ChatMessagePartTypeImageURL, Image: &schema.MessageOutputImage{MessagePartCommon: image}},
		}},
		{Role: schema.User, MultiContent: []schema.ChatMessagePart{
			{Type: schema.ChatMessagePartTypeFileURL, FileURL: &schema.ChatMessageFileURL{URI: "https://example.com/a.pdf", Name: "a.pdf"}},
		}},
	}
}

func TestMessagesOfEveryKindComeBackEqual(t *testing.T) {
	ctx, history := context.Background(), eino.NewHistory(adaptertest.Client(t), "all")
	equal(t, must(history.Messages(ctx)), []*schema.Message{})
	check(t, history.Append(ctx, everyKind()...))
	check(t, history.Append(ctx, schema.UserMessage("")))
	equal(t, must(history.Messages(ctx)), append(everyKind(), schema.UserMessage("")))
}

func TestMessageThatIsNilOrHasNoJSONIsRefused(t *testing.T) {
	ctx, history := context.Background(), eino.NewHistory(adaptertest.Client(t), "refused")
	for _, wrong := range []*schema.Message{nil, {Role: schema.User, Extra: map[string]any{"f": func() {}}}} {
		if history.Append(ctx, schema.UserMessage("first"), wrong) == nil || history.Replace(ctx, []*schema.Message{wrong}) == nil {
			t.Fatalf("%v was stored", wrong)
		}
	}
	equal(t, len(must(history.Messages(ctx))), 0)
}

func TestTypedPartsOfMessagesAreComplete(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	check(t, eino.NewHistory(client, "typed", eino.WithAuthor("guide")).Append(ctx, everyKind()...))
	var events []*threadkeep.Event
	for event, err := range client.Session("typed").Events(ctx) {
		check(t, err)
		events = append(events, event)
	}
	asked, ai := events[2], events[3]
	equal(t, asked.GetAuthor(), "bob")
	equal(t, asked.GetMessage().GetParts()[1].GetMedia().GetUri(), "https://example.com/a.png")
	equal(t, asked.GetMessage().GetParts()[1].GetMedia().GetDetail(), "low")
	equal(t, asked.GetMessage().GetParts()[2].GetMedia().GetData(), []byte{0, 1, 255})
	equal(t, ai.GetAuthor(), "guide")
	equal(t, ai.GetMessage().GetParts()[0].GetReasoning().GetText(), "One call.")
	equal(t, threadkeep.TextOf(ai), "I look.")
	equal(t, ai.GetMessage().GetParts()[2].GetToolCall().GetArgumentsJson(), `{"city":  "Lisbon"}`)
	equal(t, []int64{ai.GetUsage().GetInputTokens(), ai.GetUsage().GetCachedTokens(), ai.GetUsage().GetReasoningTokens()}, []int64{7, 3, 2})
	result := events[4].GetMessage().GetParts()[0].GetToolResult()
	equal(t, []string{result.GetCallId(), result.GetName()}, []string{"c1", "weather"})
	equal(t, events[6].GetAuthor(), "painter")
	equal(t, events[7].GetMessage().GetParts()[0].GetMedia().GetName(), "a.pdf")
}

func TestMessagesOfOthersAreReadWithCallsOfAStepTogether(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	call := func(id string) *threadkeep.Part {
		return threadkeep.ToolCall(id, "weather", map[string]string{"city": id})
	}
	document := threadkeep.InlineMedia("application/pdf", []byte{1})
	document.GetMedia().Name = "a.pdf"
	_, err := client.Session("others").Append(ctx, threadkeep.Events(
		threadkeep.NewEvent(pb.Role_ROLE_USER, threadkeep.Text("Compare."), document, threadkeep.Media("video/mp4", "https://v")),
		threadkeep.NewEvent(pb.Role_ROLE_ASSISTANT, threadkeep.Reasoning("Two calls.")),
		threadkeep.Assistant("", call("a")), threadkeep.Assistant("", call("b")),
		threadkeep.ToolResult("a", "21"), threadkeep.ToolError("b", threadkeep.ToolOutput{JSON: map[string]int{"code": 5}}),
		threadkeep.NewEvent(pb.Role_ROLE_ASSISTANT, threadkeep.Text("A map."), threadkeep.Media("image/png", "https://i")),
	), threadkeep.WithCreateIfMissing())
	check(t, err)
	file := &schema.MessageInputFile{MessagePartCommon: schema.MessagePartCommon{Base64Data: at("AQ=="), MIMEType: "application/pdf"}, Name: "a.pdf"}
	video := &schema.MessageInputVideo{MessagePartCommon: schema.MessagePartCommon{URL: at("https://v"), MIMEType: "video/mp4"}}
	image := &schema.MessageOutputImage{MessagePartCommon: schema.MessagePartCommon{URL: at("https://i"), MIMEType: "image/png"}}
	equal(t, must(eino.NewHistory(client, "others").Messages(ctx)), []*schema.Message{
		{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "Compare."}, {Type: schema.ChatMessagePartTypeFileURL, File: file},
			{Type: schema.ChatMessagePartTypeVideoURL, Video: video},
		}},
		{Role: schema.Assistant, ReasoningContent: "Two calls.", ToolCalls: []schema.ToolCall{
			toolCall("a", "weather", `{"city":"a"}`), toolCall("b", "weather", `{"city":"b"}`),
		}},
		schema.ToolMessage("21", "a", schema.WithToolName("weather")),
		schema.ToolMessage(`{"code":5}`, "b", schema.WithToolName("weather")),
		{Role: schema.Assistant, AssistantGenMultiContent: []schema.MessageOutputPart{
			{Type: schema.ChatMessagePartTypeText, Text: "A map."}, {Type: schema.ChatMessagePartTypeImageURL, Image: image},
		}},
	})
}

func TestMessageOfANewerVersionIsReadFromItsParts(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	event := threadkeep.Assistant("Hello.")
	event.Native = &pb.NativeContent{Format: eino.MessageFormat, Content: []byte(`{"role":"assistant","content":"x","mood":1}`)}
	_, err := client.Session("newer").Append(ctx, threadkeep.Events(event), threadkeep.WithCreateIfMissing())
	check(t, err)
	equal(t, texts(must(eino.NewHistory(client, "newer").Messages(ctx))), []string{"Hello."})
}

func TestReplaceKeepsEventsAndWhatOthersAppendedSince(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	history := eino.NewHistory(client, "replace")
	check(t, history.Replace(ctx, []*schema.Message{schema.UserMessage("1"), schema.AssistantMessage("2", nil)}))
	messages := must(history.Messages(ctx))
	check(t, eino.NewHistory(client, "replace").Append(ctx, schema.UserMessage("other")))
	check(t, history.Replace(ctx, append(messages[1:], schema.UserMessage("3"))))
	equal(t, texts(must(history.Messages(ctx))), []string{"2", "3", "other"})
	equal(t, must(client.Session("replace").EventsPage(ctx)).GetEvents()[0].GetArchived(), true)
	check(t, history.Replace(ctx, nil))
	equal(t, len(must(history.Messages(ctx))), 0)
}

func TestClearRemovesMessagesAndKeepsTheSession(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	history := eino.NewHistory(client, "clear", eino.WithCreate(threadkeep.WithLabels(map[string]string{"team": "a"})))
	check(t, history.Clear(ctx))
	check(t, history.Append(ctx, schema.UserMessage("1")))
	check(t, history.Clear(ctx))
	equal(t, len(must(history.Messages(ctx))), 0)
	equal(t, must(client.Session("clear").Get(ctx)).GetLabels(), map[string]string{"team": "a"})
}

func TestMemoryProviderLimitsReadsAndDropsWrites(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	check(t, eino.NewHistory(client, "provider").Append(ctx, schema.UserMessage("1"), schema.UserMessage("2")))
	last := eino.NewHistory(client, "provider", eino.WithMemory(threadkeep.ReadOnly().MaxTurns(1)))
	check(t, last.Append(ctx, schema.UserMessage("dropped")))
	equal(t, texts(must(last.Messages(ctx))), []string{"2"})
}

func TestFirstMessagesOfManyWritersAreAllStored(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	var writers sync.WaitGroup
	for i := range 16 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			if err := eino.NewHistory(client, "first").Append(ctx, schema.UserMessage(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		}()
	}
	writers.Wait()
	equal(t, len(must(eino.NewHistory(client, "first").Messages(ctx))), 16)
}

func TestSameMessagesAfterAFailedCallAreStoredOnce(t *testing.T) {
	ctx, history := context.Background(), eino.NewHistory(adaptertest.Client(t), "retried")
	short, cancel := context.WithTimeout(ctx, time.Microsecond)
	defer cancel()
	if history.Append(short, schema.UserMessage("1")) == nil {
		t.Fatal("a call without time succeeded")
	}
	check(t, history.Append(ctx, schema.UserMessage("1")))
	equal(t, len(must(history.Messages(ctx))), 1)
	check(t, history.Append(ctx, schema.UserMessage("1")))
	equal(t, len(must(history.Messages(ctx))), 2)
}
