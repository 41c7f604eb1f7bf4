package threadkeep

import (
	"strings"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// User returns an event with a user message. On the root branch it starts a turn.
//
// Builders set only the message of an event; set its other fields (Author, Branch, MetadataJson ...) as needed.
func User(text string) *Event {
	return NewEvent(pb.Role_ROLE_USER, Text(text))
}

// Assistant returns an event with a model message, followed by its tool calls; see ToolCall. With calls, an empty text is left
// out.
func Assistant(text string, calls ...*Part) *Event {
	if text == "" && len(calls) > 0 {
		return NewEvent(pb.Role_ROLE_ASSISTANT, calls...)
	}
	return NewEvent(pb.Role_ROLE_ASSISTANT, append([]*Part{Text(text)}, calls...)...)
}

// System returns an event with instructions to the model.
func System(text string) *Event {
	return NewEvent(pb.Role_ROLE_SYSTEM, Text(text))
}

// ToolOutput is the result of a tool call with more than a text or a JSON value.
type ToolOutput struct {
	// Name of the tool.
	Name string
	// Text and Parts are the content.
	Text  string
	Parts []*Part
	// JSON is the structured result: JSON text (a string or json.RawMessage), kept verbatim, or a value for json.Marshal.
	JSON any
}

// ToolResult returns an event with the result of the tool call callID: a string is a text, a ToolOutput is used as it is, and
// any other value is structured JSON, of which json.RawMessage is kept verbatim. It panics for a value that json.Marshal cannot
// encode, such as a function.
func ToolResult(callID string, output any) *Event { return toolResult(callID, output, false) }

// ToolError returns an event with the failure of the tool call callID, which the output describes like that of ToolResult.
func ToolError(callID string, output any) *Event { return toolResult(callID, output, true) }

func toolResult(callID string, output any, failed bool) *Event {
	result := &pb.ToolResultPart{CallId: callID, IsError: failed}
	switch given := output.(type) {
	case string:
		result.Parts = []*Part{Text(given)}
	case ToolOutput:
		result.Name = given.Name
		if given.Text != "" || (given.JSON == nil && len(given.Parts) == 0) {
			result.Parts = []*Part{Text(given.Text)}
		}
		result.Parts = append(result.Parts, given.Parts...)
		if given.JSON != nil {
			result.StructuredJson = mustJSON(given.JSON)
		}
	default:
		result.StructuredJson = mustJSON(given)
	}
	return NewEvent(RoleTool, &Part{Content: &pb.Part_ToolResult{ToolResult: result}})
}

func mustJSON(value any) string {
	text, err := jsonText(value)
	if err != nil {
		panic("threadkeep: " + err.Error())
	}
	return text
}

// Events returns the events as a slice, for Append.
func Events(events ...*Event) []*Event { return events }

// NewEvent returns an event whose message has this role and these parts.
func NewEvent(role pb.Role, parts ...*Part) *Event {
	return &Event{Message: &pb.ChatMessage{Role: role, Parts: parts}}
}

// Text returns a part of plain text, which keyword filters and search look at.
func Text(text string) *Part {
	return &Part{Content: &pb.Part_Text{Text: text}}
}

// Reasoning returns a part with reasoning of the model. Set Signature and Encrypted of its ReasoningPart as the provider does.
func Reasoning(text string) *Part {
	return &Part{Content: &pb.Part_Reasoning{Reasoning: &pb.ReasoningPart{Text: text}}}
}

// Media returns a part with media by reference.
func Media(mimeType, uri string) *Part {
	return &Part{Content: &pb.Part_Media{Media: &pb.MediaPart{MimeType: mimeType, Source: &pb.MediaPart_Uri{Uri: uri}}}}
}

// InlineMedia returns a part with media.
func InlineMedia(mimeType string, data []byte) *Part {
	return &Part{Content: &pb.Part_Media{Media: &pb.MediaPart{MimeType: mimeType, Source: &pb.MediaPart_Data{Data: data}}}}
}

// ToolCall returns a part with a tool call. The result has the same id. The arguments are JSON text (a string or
// json.RawMessage), kept verbatim, or a value for json.Marshal. It panics for a value that json.Marshal cannot encode.
func ToolCall(id, name string, arguments any) *Part {
	call := &pb.ToolCallPart{Id: id, Name: name, Kind: "function", ArgumentsJson: mustJSON(arguments)}
	return &Part{Content: &pb.Part_ToolCall{ToolCall: call}}
}

// TextOf returns the text of the event as search sees it: its text parts, joined by line feeds. Empty if there is none.
func TextOf(event *Event) string {
	return textOf(event.GetMessage())
}

// TextOfMemory returns the text of a memory entry, like TextOf.
func TextOfMemory(entry *MemoryEntry) string {
	return textOf(entry.GetContent())
}

func textOf(message *pb.ChatMessage) string {
	var texts []string
	for _, part := range message.GetParts() {
		if text, ok := part.GetContent().(*pb.Part_Text); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}
