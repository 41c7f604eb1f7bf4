package langchaingo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/schema"

	"github.com/threadkeep/threadkeep-go"
)

// stepsKey is the output of an executor that returns its steps.
const stepsKey = "intermediateSteps"

// Memory is a memory of chains and agents over a history. It differs from memory.ConversationBuffer, whose options it takes, in what
// a turn stores: the input, the tool calls and their results, and the output are one change, all or none. Give the executor
// agents.WithReturnIntermediateSteps, which returns the tool calls. They are also in the text of the history.
type Memory struct {
	*memory.ConversationBuffer
	history *ChatMessageHistory
}

var _ schema.Memory = (*Memory)(nil)

// NewMemory returns a memory over a history. An option with another history has no effect. The default keys are those of
// memory.ConversationBuffer; of an executor that returns its steps, "output" is the default output.
func NewMemory(history *ChatMessageHistory, options ...memory.ConversationBufferOption) *Memory {
	buffer := memory.NewConversationBuffer(options...)
	buffer.ChatHistory = history
	return &Memory{buffer, history}
}

// LoadMemoryVariables returns the history under the memory key: messages with memory.WithReturnMessages, else a text with a line for
// each message, with its tool calls as JSON.
func (m *Memory) LoadMemoryVariables(ctx context.Context, _ map[string]any) (map[string]any, error) {
	messages, err := m.history.Messages(ctx)
	if err != nil {
		return nil, err
	}
	if m.ReturnMessages {
		return map[string]any{m.MemoryKey: messages}, nil
	}
	lines := make([]string, len(messages))
	for i, message := range messages {
		if lines[i], err = llms.GetBufferString([]llms.ChatMessage{message}, m.HumanPrefix, m.AIPrefix); err != nil {
			return nil, err
		}
		if ai, ok := message.(llms.AIChatMessage); ok && len(ai.ToolCalls) > 0 {
			lines[i] += " " + callsText(ai.ToolCalls)
		}
	}
	return map[string]any{m.MemoryKey: strings.Join(lines, "\n")}, nil
}

func callsText(calls []llms.ToolCall) string {
	shown := make([]recordCall, len(calls))
	for i, call := range calls {
		shown[i] = recordCall{call.ID, call.Type, call.FunctionCall}
	}
	text, err := json.Marshal(shown)
	if err != nil {
		panic(err) // Texts have JSON.
	}
	return string(text)
}

// SaveContext stores a turn in one change. If it fails and is called again with the same values, the turn is stored once.
func (m *Memory) SaveContext(ctx context.Context, inputs map[string]any, outputs map[string]any) error {
	input, err := memory.GetInputValue(inputs, m.InputKey)
	if err != nil {
		return err
	}
	answers, steps, err := withoutSteps(outputs)
	if err != nil {
		return err
	}
	output, err := memory.GetInputValue(answers, m.OutputKey)
	if err != nil {
		return err
	}
	key, err := json.Marshal([]any{"turn", input, steps, output})
	if err != nil {
		return err
	}
	return m.history.log.Append(ctx, string(key), func() []*threadkeep.Event {
		turn := append([]llms.ChatMessage{llms.HumanChatMessage{Content: input}}, stepMessages(steps)...)
		events, _ := made(append(turn, llms.AIChatMessage{Content: output}), m.history.chatEvent) // None is nil.
		return events
	})
}

// withoutSteps divides the outputs of an executor into those of the agent and its steps.
func withoutSteps(outputs map[string]any) (map[string]any, []schema.AgentStep, error) {
	found, ok := outputs[stepsKey]
	if !ok {
		return outputs, nil, nil
	}
	steps, ok := found.([]schema.AgentStep)
	if !ok {
		return nil, nil, fmt.Errorf("langchaingo: %s has the type %T", stepsKey, found)
	}
	rest := map[string]any{}
	for key, value := range outputs {
		if key != stepsKey {
			rest[key] = value
		}
	}
	return rest, steps, nil
}

// stepMessages returns the messages of an agent's steps: calls that the model made together are one message, followed by their
// results. A call without an id, of an agent that reads calls from text, gets one.
func stepMessages(steps []schema.AgentStep) []llms.ChatMessage {
	var messages []llms.ChatMessage
	for start := 0; start < len(steps); {
		var calls []llms.ToolCall
		var results []llms.ChatMessage
		end := start
		for ; end < len(steps) && steps[end].Action.Log == steps[start].Action.Log; end++ {
			action := steps[end].Action
			if action.Tool == "" {
				continue // The executor reports to the model that it could not read the model's text.
			}
			id := action.ToolID
			if id == "" {
				id = "call_" + threadkeep.NewEventID()
			}
			calls = append(calls, llms.ToolCall{
				ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: action.Tool, Arguments: argumentsOf(action)},
			})
			results = append(results, llms.ToolChatMessage{ID: id, Content: steps[end].Observation})
		}
		if len(calls) > 0 {
			messages = append(append(messages, llms.AIChatMessage{ToolCalls: calls}), results...)
		}
		start = end
	}
	return messages
}

// argumentsOf returns a tool's input as arguments. Agents pass a text as it is: it is the value of the argument that they declare.
func argumentsOf(action schema.AgentAction) string {
	var object map[string]any
	if json.Unmarshal([]byte(action.ToolInput), &object) == nil {
		return action.ToolInput
	}
	arguments, err := json.Marshal(map[string]string{"__arg1": action.ToolInput})
	if err != nil {
		panic(err) // Texts have JSON.
	}
	return string(arguments)
}
