// Golden writes the golden conversation through the adapter, or reads some: see the package internal/golden of the client.
package main

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/tmc/langchaingo/llms"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/integrations/langchaingo"
	"github.com/threadkeep/threadkeep-go/internal/golden"
)

func main() { golden.Main(write, read) }

func call(id, name, arguments string) llms.ToolCall {
	return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: arguments}}
}

func write(ctx context.Context, client *threadkeep.Client, session string) error {
	history := langchaingo.New(client, session)
	image, err := base64.StdEncoding.DecodeString(golden.Pixel)
	if err != nil {
		return err
	}
	asked := llms.TextParts(llms.ChatMessageTypeHuman, "Compare the weather in Lisbon and Oslo with this map.")
	asked.Parts = append(asked.Parts, llms.BinaryPart("image/png", image))
	if err := history.AddContents(ctx, asked); err != nil {
		return err
	}
	if err := history.AddMessages(ctx,
		llms.AIChatMessage{
			ReasoningContent: "Two cities need two calls.",
			Content:          "Let me look at both.",
			ToolCalls: []llms.ToolCall{
				call("call_lisbon", "weather", `{"city": "Lisbon"}`), call("call_oslo", "weather", `{"city": "Oslo"}`),
			},
		},
		llms.ToolChatMessage{ID: "call_lisbon", Content: `{"celsius": 21, "sky": "clear"}`},
		llms.ToolChatMessage{ID: "call_oslo", Content: "the station is offline"},
	); err != nil {
		return err
	}
	if err := history.AddMessage(ctx, llms.AIChatMessage{
		Content:   "Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?",
		ToolCalls: []llms.ToolCall{call("call_book", "book", `{"city": "Lisbon", "nights": 2}`)},
	}); err != nil {
		return err
	}
	if err := history.AddMessage(ctx, llms.ToolChatMessage{ID: "call_book", Content: `{"booked": true}`}); err != nil {
		return err
	}
	return history.AddAIMessage(ctx, "Booked. Enjoy Lisbon. 🌞")
}

// read reads chat messages, and the media of the user from the contents, which chat messages do not have.
func read(ctx context.Context, client *threadkeep.Client, session string) ([]golden.Atom, error) {
	history := langchaingo.New(client, session)
	messages, err := history.Messages(ctx)
	if err != nil {
		return nil, err
	}
	contents, err := history.Contents(ctx)
	if err != nil {
		return nil, err
	}
	var asked [][]llms.ContentPart
	for _, content := range contents {
		if content.Role == llms.ChatMessageTypeHuman {
			asked = append(asked, content.Parts)
		}
	}
	atoms := []golden.Atom{}
	for _, message := range messages {
		switch message := message.(type) {
		case llms.HumanChatMessage:
			atoms = append(atoms, humanAtoms(asked[0])...)
			asked = asked[1:]
		case llms.AIChatMessage:
			found, err := aiAtoms(message)
			if err != nil {
				return nil, err
			}
			atoms = append(atoms, found...)
		case llms.ToolChatMessage:
			atoms = append(atoms, golden.Atom{"role": "tool", "kind": "result", "id": message.ID, "value": message.Content})
		default:
			return nil, fmt.Errorf("a message is a %T", message)
		}
	}
	return atoms, nil
}

func humanAtoms(parts []llms.ContentPart) (atoms []golden.Atom) {
	for _, part := range parts {
		switch part := part.(type) {
		case llms.TextContent:
			atoms = append(atoms, golden.Atom{"role": "user", "kind": "text", "text": part.Text})
		case llms.BinaryContent:
			data := base64.StdEncoding.EncodeToString(part.Data)
			atoms = append(atoms, golden.Atom{"role": "user", "kind": "media", "mime": part.MIMEType, "data": data})
		}
	}
	return atoms
}

func aiAtoms(message llms.AIChatMessage) (atoms []golden.Atom, err error) {
	if message.ReasoningContent != "" {
		atoms = append(atoms, golden.Atom{"role": "assistant", "kind": "reasoning", "text": message.ReasoningContent})
	}
	if message.Content != "" {
		atoms = append(atoms, golden.Atom{"role": "assistant", "kind": "text", "text": message.Content})
	}
	for _, call := range message.ToolCalls {
		atom, err := golden.Call("assistant", call.ID, call.FunctionCall.Name, call.FunctionCall.Arguments)
		if err != nil {
			return nil, err
		}
		atoms = append(atoms, atom)
	}
	return atoms, nil
}
