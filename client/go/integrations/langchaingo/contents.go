package langchaingo

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/internal/adapters"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// ContentFormat is the native format of a message as models receive it: the JSON of llms.MessageContent.
const ContentFormat = "langchaingo.content/1"

// contentEvent returns the event of a message as models receive it.
func (h *ChatMessageHistory) contentEvent(message llms.MessageContent) (*threadkeep.Event, error) {
	native, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	parts := make([]*threadkeep.Part, len(message.Parts))
	for i, part := range message.Parts {
		if parts[i] = partOf(part); parts[i] == nil {
			return nil, fmt.Errorf("langchaingo: a message has a part of the type %T, which is not supported", part)
		}
	}
	role := roleNamed(string(message.Role))
	if message.Role == llms.ChatMessageTypeTool || message.Role == llms.ChatMessageTypeFunction {
		role = pb.Role_ROLE_TOOL
	}
	event := adapters.NewEvent(role, parts, ContentFormat, native)
	if role == pb.Role_ROLE_ASSISTANT {
		event.Author = h.log.Author()
	}
	return event, nil
}

func partOf(part llms.ContentPart) *threadkeep.Part {
	switch part := part.(type) {
	case llms.TextContent:
		return threadkeep.Text(adapters.Clean(part.Text))
	case llms.ImageURLContent:
		media := adapters.URLMedia("image/*", part.URL)
		media.GetMedia().Detail = adapters.Clean(part.Detail)
		return media
	case llms.BinaryContent:
		return threadkeep.InlineMedia(adapters.Clean(part.MIMEType), part.Data)
	case llms.ToolCall:
		return callPart(part)
	case llms.ToolCallResponse:
		return adapters.ResultPart(part.ToolCallID, part.Name, textParts(part.Content)...)
	}
	return nil
}

// contentGroups returns events as messages that models receive.
func contentGroups(events []*threadkeep.Event) []adapters.Group[llms.MessageContent] {
	names := adapters.CallNames(events)
	return adapters.Groups(events, keptContent, func(role pb.Role, parts []*threadkeep.Part) []llms.MessageContent {
		var contents []llms.MessageContent
		for _, item := range itemsOf(role, parts, names) {
			if len(item.parts) > 0 {
				contents = append(contents, llms.MessageContent{Role: item.role, Parts: item.parts})
			}
		}
		return contents
	})
}

func keptContent(event *threadkeep.Event) (message llms.MessageContent, found bool) {
	if event.GetNative().GetFormat() != ContentFormat || json.Unmarshal(event.GetNative().GetContent(), &message) != nil {
		return llms.MessageContent{}, false
	}
	return message, len(message.Parts) > 0
}

// item is a message of typed parts, before it gets one of langchaingo's two forms.
type item struct {
	role      llms.ChatMessageType
	parts     []llms.ContentPart
	reasoning []string
}

// itemsOf returns a message for the results of each tool call, and one for all other parts.
func itemsOf(role pb.Role, parts []*threadkeep.Part, names map[string]string) []item {
	main := item{role: typeOf(role)}
	var results []item
	for _, part := range parts {
		switch content := part.GetContent().(type) {
		case *pb.Part_Text:
			main.parts = append(main.parts, llms.TextContent{Text: content.Text})
		case *pb.Part_Reasoning:
			if text := content.Reasoning.GetText(); text != "" {
				main.reasoning = append(main.reasoning, text)
			}
		case *pb.Part_ToolCall:
			call := content.ToolCall
			main.parts = append(main.parts, llms.ToolCall{
				ID: call.GetId(), Type: "function",
				FunctionCall: &llms.FunctionCall{Name: call.GetName(), Arguments: adapters.Arguments(call)},
			})
		case *pb.Part_ToolResult:
			results = append(results, resultItem(content.ToolResult, names))
		case *pb.Part_Media:
			main.parts = append(main.parts, mediaContent(content.Media))
		case *pb.Part_Data:
			main.parts = append(main.parts, llms.TextContent{Text: content.Data.GetJson()})
		}
	}
	if len(main.parts) == 0 && len(main.reasoning) == 0 {
		return results
	}
	return append([]item{main}, results...)
}

func resultItem(result *pb.ToolResultPart, names map[string]string) item {
	name := result.GetName()
	if name == "" {
		name = names[result.GetCallId()]
	}
	response := llms.ToolCallResponse{ToolCallID: result.GetCallId(), Name: name, Content: adapters.ResultText(result)}
	return item{role: llms.ChatMessageTypeTool, parts: []llms.ContentPart{response}}
}

func typeOf(role pb.Role) llms.ChatMessageType {
	switch role {
	case pb.Role_ROLE_ASSISTANT:
		return llms.ChatMessageTypeAI
	case pb.Role_ROLE_SYSTEM:
		return llms.ChatMessageTypeSystem
	}
	return llms.ChatMessageTypeHuman
}

// mediaContent returns bytes and images; other media by reference is text, as a part names images only.
func mediaContent(media *pb.MediaPart) llms.ContentPart {
	switch source := media.GetSource().(type) {
	case *pb.MediaPart_Data:
		return llms.BinaryContent{MIMEType: media.GetMimeType(), Data: source.Data}
	case *pb.MediaPart_Uri:
		if media.GetMimeType() == "" || strings.HasPrefix(media.GetMimeType(), "image/") {
			return llms.ImageURLContent{URL: source.Uri, Detail: media.GetDetail()}
		}
		return llms.TextContent{Text: source.Uri}
	}
	return llms.TextContent{Text: "file " + media.GetFileId()}
}

// message returns the item as a chat message, which has no media.
func (i item) message() llms.ChatMessage {
	var texts []string
	var calls []llms.ToolCall
	for _, part := range i.parts {
		switch part := part.(type) {
		case llms.TextContent:
			texts = append(texts, part.Text)
		case llms.ToolCall:
			calls = append(calls, part)
		case llms.ToolCallResponse:
			return llms.ToolChatMessage{ID: part.ToolCallID, Content: part.Content}
		}
	}
	content := strings.Join(texts, "\n")
	switch i.role {
	case llms.ChatMessageTypeAI:
		return llms.AIChatMessage{Content: content, ToolCalls: calls, ReasoningContent: strings.Join(i.reasoning, "\n")}
	case llms.ChatMessageTypeSystem:
		return llms.SystemChatMessage{Content: content}
	}
	return llms.HumanChatMessage{Content: content}
}
