package langchaingo

import (
	"encoding/json"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/internal/adapters"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// MessageFormat is the native format of a chat message: {"type": ..., "data": {...}} with the fields of its Go type. The JSON of
// llms.AIChatMessage is not used: langchaingo reads it without the tool calls' functions.
const MessageFormat = "langchaingo.message/1"

type record struct {
	Type llms.ChatMessageType `json:"type"`
	Data recordData           `json:"data"`
}

type recordData struct {
	Content          string             `json:"content"`
	FunctionCall     *llms.FunctionCall `json:"function_call,omitempty"`
	ToolCalls        []recordCall       `json:"tool_calls,omitempty"`
	ReasoningContent string             `json:"reasoning_content,omitempty"`
	Role             string             `json:"role,omitempty"`
	Name             string             `json:"name,omitempty"`
	ToolCallID       string             `json:"tool_call_id,omitempty"`
}

type recordCall struct {
	ID       string             `json:"id"`
	Type     string             `json:"type"`
	Function *llms.FunctionCall `json:"function,omitempty"`
}

// chatEvent returns the event of a chat message.
func (h *ChatMessageHistory) chatEvent(given llms.ChatMessage) (*threadkeep.Event, error) {
	message := valueOf(given)
	if message == nil {
		return nil, errNoMessage
	}
	role, parts := pb.Role_ROLE_USER, textParts(message.GetContent())
	kept := record{Type: message.GetType(), Data: recordData{Content: message.GetContent()}}
	author := ""
	switch message := message.(type) {
	case llms.AIChatMessage:
		role, parts, author = pb.Role_ROLE_ASSISTANT, aiParts(message), h.log.Author()
		kept.Data.FunctionCall, kept.Data.ReasoningContent = message.FunctionCall, message.ReasoningContent
		for _, call := range message.ToolCalls {
			kept.Data.ToolCalls = append(kept.Data.ToolCalls, recordCall{call.ID, call.Type, call.FunctionCall})
		}
	case llms.GenericChatMessage:
		role, author = roleNamed(message.Role), adapters.Clean(message.Name)
		kept.Data.Role, kept.Data.Name = message.Role, message.Name
	case llms.FunctionChatMessage:
		role, parts = pb.Role_ROLE_TOOL, []*threadkeep.Part{adapters.ResultPart("", message.Name, parts...)}
		kept.Data.Name = message.Name
	case llms.ToolChatMessage:
		role, parts = pb.Role_ROLE_TOOL, []*threadkeep.Part{adapters.ResultPart(message.ID, "", parts...)}
		kept.Data.ToolCallID = message.ID
	default:
		if role = roleNamed(string(message.GetType())); role == pb.Role_ROLE_ASSISTANT {
			author = h.log.Author()
		}
	}
	native, err := json.Marshal(kept)
	if err != nil {
		return nil, err
	}
	event := adapters.NewEvent(role, parts, MessageFormat, native)
	event.Author = author
	return event, nil
}

func textParts(text string) []*threadkeep.Part {
	return []*threadkeep.Part{threadkeep.Text(adapters.Clean(text))}
}

func aiParts(message llms.AIChatMessage) []*threadkeep.Part {
	var parts []*threadkeep.Part
	if message.ReasoningContent != "" {
		parts = append(parts, threadkeep.Reasoning(adapters.Clean(message.ReasoningContent)))
	}
	calls := message.ToolCalls
	if message.FunctionCall != nil {
		calls = append([]llms.ToolCall{{FunctionCall: message.FunctionCall}}, calls...)
	}
	if message.Content != "" || len(calls) == 0 {
		parts = append(parts, textParts(message.Content)...)
	}
	for _, call := range calls {
		parts = append(parts, callPart(call))
	}
	return parts
}

func callPart(call llms.ToolCall) *threadkeep.Part {
	var function llms.FunctionCall
	if call.FunctionCall != nil {
		function = *call.FunctionCall
	}
	return adapters.CallPart(call.ID, function.Name, call.Type, function.Arguments)
}

func roleNamed(name string) pb.Role {
	switch strings.ToLower(name) {
	case "ai", "assistant", "model":
		return pb.Role_ROLE_ASSISTANT
	case "system", "developer":
		return pb.Role_ROLE_SYSTEM
	}
	return pb.Role_ROLE_USER
}

// chatGroups returns events as chat messages.
func chatGroups(events []*threadkeep.Event) []adapters.Group[llms.ChatMessage] {
	names := adapters.CallNames(events)
	return adapters.Groups(events, keptMessage, func(role pb.Role, parts []*threadkeep.Part) []llms.ChatMessage {
		var messages []llms.ChatMessage
		for _, item := range itemsOf(role, parts, names) {
			messages = append(messages, item.message())
		}
		return messages
	})
}

// keptMessage returns the chat message that langchaingo stored.
func keptMessage(event *threadkeep.Event) (llms.ChatMessage, bool) {
	var kept record
	if !adapters.Native(event, MessageFormat, &kept) {
		return nil, false
	}
	data := kept.Data
	switch kept.Type {
	case llms.ChatMessageTypeAI:
		message := llms.AIChatMessage{
			Content: data.Content, FunctionCall: data.FunctionCall, ReasoningContent: data.ReasoningContent,
		}
		for _, call := range data.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, llms.ToolCall{ID: call.ID, Type: call.Type, FunctionCall: call.Function})
		}
		return message, true
	case llms.ChatMessageTypeHuman:
		return llms.HumanChatMessage{Content: data.Content}, true
	case llms.ChatMessageTypeSystem:
		return llms.SystemChatMessage{Content: data.Content}, true
	case llms.ChatMessageTypeGeneric:
		return llms.GenericChatMessage{Content: data.Content, Role: data.Role, Name: data.Name}, true
	case llms.ChatMessageTypeFunction:
		return llms.FunctionChatMessage{Name: data.Name, Content: data.Content}, true
	case llms.ChatMessageTypeTool:
		return llms.ToolChatMessage{ID: data.ToolCallID, Content: data.Content}, true
	}
	return nil, false
}
