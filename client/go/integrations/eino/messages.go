package eino

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/internal/adapters"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// MessageFormat is the native format of a message: the JSON of schema.Message.
const MessageFormat = "eino.message/1"

var roles = map[schema.RoleType]pb.Role{
	schema.Assistant: pb.Role_ROLE_ASSISTANT, schema.System: pb.Role_ROLE_SYSTEM, schema.Tool: pb.Role_ROLE_TOOL,
}

// eventOf returns the event of a message.
func (h *History) eventOf(message *schema.Message) (*threadkeep.Event, error) {
	native, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	role, known := roles[message.Role]
	if !known {
		role = pb.Role_ROLE_USER
	}
	parts := contentParts(message)
	if role == pb.Role_ROLE_TOOL {
		parts = []*threadkeep.Part{adapters.ResultPart(message.ToolCallID, message.ToolName, parts...)}
	} else {
		if message.ReasoningContent != "" {
			parts = append([]*threadkeep.Part{threadkeep.Reasoning(adapters.Clean(message.ReasoningContent))}, parts...)
		}
		for _, call := range message.ToolCalls {
			parts = append(parts, adapters.CallPart(call.ID, call.Function.Name, call.Type, call.Function.Arguments))
		}
	}
	event := adapters.NewEvent(role, parts, MessageFormat, native)
	switch role {
	case pb.Role_ROLE_ASSISTANT:
		event.Author = adapters.Clean(cmp.Or(message.Name, h.log.Author()))
	case pb.Role_ROLE_USER:
		event.Author = adapters.Clean(message.Name)
	}
	event.Usage = usageOf(message.ResponseMeta)
	return event, nil
}

func usageOf(meta *schema.ResponseMeta) *pb.TokenUsage {
	if meta == nil || meta.Usage == nil {
		return nil
	}
	usage := meta.Usage
	return &pb.TokenUsage{
		InputTokens: int64(usage.PromptTokens), OutputTokens: int64(usage.CompletionTokens), TotalTokens: int64(usage.TotalTokens),
		CachedTokens:    int64(usage.PromptTokenDetails.CachedTokens),
		ReasoningTokens: int64(usage.CompletionTokensDetails.ReasoningTokens),
	}
}

// groupsOf returns events as messages.
func groupsOf(events []*threadkeep.Event) []adapters.Group[*schema.Message] {
	names := adapters.CallNames(events)
	return adapters.Groups(events, keptMessage, func(role pb.Role, parts []*threadkeep.Part) []*schema.Message {
		return rendered(role, parts, names)
	})
}

// keptMessage returns the message that Eino stored.
func keptMessage(event *threadkeep.Event) (*schema.Message, bool) {
	message := &schema.Message{}
	return message, adapters.Native(event, MessageFormat, message)
}

// rendered returns the typed parts as messages: one for the result of each tool call, and one for all other parts.
func rendered(role pb.Role, parts []*threadkeep.Part, names map[string]string) []*schema.Message {
	main := &schema.Message{Role: schema.User}
	for name, each := range roles {
		if each == role && role != pb.Role_ROLE_TOOL {
			main.Role = name
		}
	}
	var content []*threadkeep.Part
	var reasoning []string
	var results []*schema.Message
	for _, part := range parts {
		switch each := part.GetContent().(type) {
		case nil:
		case *pb.Part_Reasoning:
			if text := each.Reasoning.GetText(); text != "" {
				reasoning = append(reasoning, text)
			}
		case *pb.Part_ToolCall:
			main.ToolCalls = append(main.ToolCalls, schema.ToolCall{
				ID: each.ToolCall.GetId(), Type: "function",
				Function: schema.FunctionCall{Name: each.ToolCall.GetName(), Arguments: adapters.Arguments(each.ToolCall)},
			})
		case *pb.Part_ToolResult:
			results = append(results, resultMessage(each.ToolResult, names))
		default:
			content = append(content, part)
		}
	}
	if len(content)+len(reasoning)+len(main.ToolCalls) == 0 {
		return results
	}
	main.ReasoningContent = strings.Join(reasoning, "\n")
	setContent(main, content)
	return append([]*schema.Message{main}, results...)
}

func resultMessage(result *pb.ToolResultPart, names map[string]string) *schema.Message {
	message := &schema.Message{
		Role: schema.Tool, ToolCallID: result.GetCallId(), ToolName: cmp.Or(result.GetName(), names[result.GetCallId()]),
	}
	setContent(message, result.GetParts())
	if len(message.UserInputMultiContent) == 0 {
		message.Content = adapters.ResultText(result)
	}
	return message
}

// sameJSON compares messages by their JSON, in which nil and empty are the same.
func sameJSON(a, b *schema.Message) bool {
	first, err := json.Marshal(a)
	if err != nil {
		return false
	}
	second, err := json.Marshal(b)
	return err == nil && bytes.Equal(first, second)
}

func base64Of(data []byte) *string {
	text := base64.StdEncoding.EncodeToString(data)
	return &text
}
