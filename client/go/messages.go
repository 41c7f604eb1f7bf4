package threadkeep

import (
	"strings"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// User returns an event with a user message. On the root branch it starts a turn.
//
// Builders set only the message of an event; set its other fields (Author, Branch, MetadataJson ...) as needed.
func User(text string) *Event {
	return NewEvent(threadkeepv1.Role_ROLE_USER, Text(text))
}

// Assistant returns an event with a model message, followed by its tool calls; see ToolCall. With calls, an empty text is left
// out.
func Assistant(text string, calls ...*Part) *Event {
	if text == "" && len(calls) > 0 {
		return NewEvent(threadkeepv1.Role_ROLE_ASSISTANT, calls...)
	}
	return NewEvent(threadkeepv1.Role_ROLE_ASSISTANT, append([]*Part{Text(text)}, calls...)...)
}

// System returns an event with instructions to the model.
func System(text string) *Event {
	return NewEvent(threadkeepv1.Role_ROLE_SYSTEM, Text(text))
}

// ToolResult returns an event with the result of the tool call callID as text. name is the name of the tool and may be empty.
func ToolResult(callID, name, text string) *Event {
	return toolResult(&threadkeepv1.ToolResultPart{CallId: callID, Name: name, Parts: []*Part{Text(text)}})
}

// ToolResultJSON returns an event with the result of the tool call callID as JSON text, stored verbatim. name is the name of
// the tool and may be empty.
func ToolResultJSON(callID, name, json string) *Event {
	return toolResult(&threadkeepv1.ToolResultPart{CallId: callID, Name: name, StructuredJson: json})
}

// AsError marks the tool results of an event as failures and returns the event. It does not change an event without tool
// results.
func AsError(event *Event) *Event {
	for _, part := range event.GetMessage().GetParts() {
		if result := part.GetToolResult(); result != nil {
			result.IsError = true
		}
	}
	return event
}

func toolResult(result *threadkeepv1.ToolResultPart) *Event {
	return NewEvent(threadkeepv1.Role_ROLE_TOOL, &Part{Content: &threadkeepv1.Part_ToolResult{ToolResult: result}})
}

// NewEvent returns an event whose message has this role and these parts.
func NewEvent(role threadkeepv1.Role, parts ...*Part) *Event {
	return &Event{Message: &threadkeepv1.ChatMessage{Role: role, Parts: parts}}
}

// Text returns a part of plain text, which keyword filters and search look at.
func Text(text string) *Part {
	return &Part{Content: &threadkeepv1.Part_Text{Text: text}}
}

// ToolCall returns a part with a tool call. The result has the same id. The arguments are stored verbatim.
func ToolCall(id, name, argumentsJSON string) *Part {
	call := &threadkeepv1.ToolCallPart{Id: id, Name: name, Kind: "function", ArgumentsJson: argumentsJSON}
	return &Part{Content: &threadkeepv1.Part_ToolCall{ToolCall: call}}
}

// TextOf returns the text of the event as search sees it: its text parts, joined by line feeds. Empty if there is none.
func TextOf(event *Event) string {
	return textOf(event.GetMessage())
}

// TextOfMemory returns the text of a memory entry, like TextOf.
func TextOfMemory(entry *MemoryEntry) string {
	return textOf(entry.GetContent())
}

func textOf(message *threadkeepv1.ChatMessage) string {
	var texts []string
	for _, part := range message.GetParts() {
		if text, ok := part.GetContent().(*threadkeepv1.Part_Text); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}
