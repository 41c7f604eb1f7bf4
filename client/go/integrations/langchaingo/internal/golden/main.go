// Golden writes the golden conversation through the adapter, or reads one and prints its atoms: see tests/integrations/golden.py.
//
//	golden ADDRESS write SESSION
//	golden ADDRESS read SESSION...     prints a JSON object: atoms by session
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/tmc/langchaingo/llms"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/integrations/langchaingo"
)

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

type atom map[string]any

func main() {
	if len(os.Args) < 4 {
		log.Fatal("usage: golden ADDRESS write|read SESSION...")
	}
	client, err := threadkeep.New(threadkeep.Config{Address: os.Args[1], App: "golden", UserID: "ada"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if err := run(context.Background(), client, os.Args[2], os.Args[3:]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, client *threadkeep.Client, what string, sessions []string) error {
	if what == "write" {
		return write(ctx, langchaingo.New(client, sessions[0]))
	}
	read := map[string][]atom{}
	for _, session := range sessions {
		atoms, err := atomsOf(ctx, langchaingo.New(client, session))
		if err != nil {
			return err
		}
		read[session] = atoms
	}
	return json.NewEncoder(os.Stdout).Encode(read)
}

func call(id, name, arguments string) llms.ToolCall {
	return llms.ToolCall{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: arguments}}
}

func write(ctx context.Context, history *langchaingo.ChatMessageHistory) error {
	image, err := base64.StdEncoding.DecodeString(pixel)
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

// atomsOf reads chat messages, and the media of the user from the contents, which chat messages do not have.
func atomsOf(ctx context.Context, history *langchaingo.ChatMessageHistory) ([]atom, error) {
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
	atoms := []atom{}
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
			atoms = append(atoms, atom{"role": "tool", "kind": "result", "id": message.ID, "value": message.Content})
		default:
			return nil, fmt.Errorf("a message is a %T", message)
		}
	}
	return atoms, nil
}

func humanAtoms(parts []llms.ContentPart) (atoms []atom) {
	for _, part := range parts {
		switch part := part.(type) {
		case llms.TextContent:
			atoms = append(atoms, atom{"role": "user", "kind": "text", "text": part.Text})
		case llms.BinaryContent:
			data := base64.StdEncoding.EncodeToString(part.Data)
			atoms = append(atoms, atom{"role": "user", "kind": "media", "mime": part.MIMEType, "data": data})
		}
	}
	return atoms
}

func aiAtoms(message llms.AIChatMessage) (atoms []atom, err error) {
	if message.ReasoningContent != "" {
		atoms = append(atoms, atom{"role": "assistant", "kind": "reasoning", "text": message.ReasoningContent})
	}
	if message.Content != "" {
		atoms = append(atoms, atom{"role": "assistant", "kind": "text", "text": message.Content})
	}
	for _, call := range message.ToolCalls {
		var arguments map[string]any
		if err := json.Unmarshal([]byte(call.FunctionCall.Arguments), &arguments); err != nil {
			return nil, err
		}
		atoms = append(atoms, atom{
			"role": "assistant", "kind": "call", "id": call.ID, "name": call.FunctionCall.Name, "arguments": arguments,
		})
	}
	return atoms, nil
}
