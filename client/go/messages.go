package threadkeep

import (
	"strings"

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// User is what the user said. On the root branch it starts a turn.
//
// Builders make an event that has only a message; set its other fields (Author, Branch, MetadataJson ...) as you need them.
func User(text string) *Event {
	return NewEvent(threadkeepv1.Role_ROLE_USER, Text(text))
}

// Assistant is what the model said, followed by the tool calls it asks for; see ToolCall. Of an empty text calls stand alone.
func Assistant(text string, calls ...*Part) *Event {
	if text == "" && len(calls) > 0 {
		return NewEvent(threadkeepv1.Role_ROLE_ASSISTANT, calls...)
	}
	return NewEvent(threadkeepv1.Role_ROLE_ASSISTANT, append([]*Part{Text(text)}, calls...)...)
}

// System is instructions to the model.
func System(text string) *Event {
	return NewEvent(threadkeepv1.Role_ROLE_SYSTEM, Text(text))
}

// ToolResult is the answer to the tool call callID as text. name is the tool's, and may be empty.
func ToolResult(callID, name, text string) *Event {
	return toolResult(&threadkeepv1.ToolResultPart{CallId: callID, Name: name, Parts: []*Part{Text(text)}})
}

// ToolResultJSON is the answer to the tool call callID as JSON text, which is kept verbatim. name is the tool's, and may be empty.
func ToolResultJSON(callID, name, json string) *Event {
	return toolResult(&threadkeepv1.ToolResultPart{CallId: callID, Name: name, StructuredJson: json})
}

// AsError marks the tool results of an event as failures, and returns the event. One without tool results stays as it is.
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

// NewEvent is an event whose message has this role and these parts.
func NewEvent(role threadkeepv1.Role, parts ...*Part) *Event {
	return &Event{Message: &threadkeepv1.ChatMessage{Role: role, Parts: parts}}
}

// Text is plain text: what keyword filters and search look at.
func Text(text string) *Part {
	return &Part{Content: &threadkeepv1.Part_Text{Text: text}}
}

// ToolCall is a request to call a tool. Its result bears the same id; the arguments are kept verbatim.
func ToolCall(id, name, argumentsJSON string) *Part {
	call := &threadkeepv1.ToolCallPart{Id: id, Name: name, Kind: "function", ArgumentsJson: argumentsJSON}
	return &Part{Content: &threadkeepv1.Part_ToolCall{ToolCall: call}}
}

// TextOf is the event's text as search sees it: its text parts joined by a line feed. Empty when it has none.
func TextOf(event *Event) string {
	return textOf(event.GetMessage())
}

// TextOfMemory is the same of what is remembered.
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
