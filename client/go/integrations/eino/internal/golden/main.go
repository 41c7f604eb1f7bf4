// Golden writes the golden conversation through the adapter, or reads one and prints its atoms: see tests/integrations/golden.py.
//
//	golden ADDRESS write SESSION
//	golden ADDRESS read SESSION...     prints a JSON object: atoms by session
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/cloudwego/eino/schema"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/integrations/eino"
)

var pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

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
		return write(ctx, eino.NewHistory(client, sessions[0]))
	}
	read := map[string][]atom{}
	for _, session := range sessions {
		messages, err := eino.NewHistory(client, session).Messages(ctx)
		if err != nil {
			return err
		}
		atoms := []atom{}
		for _, message := range messages {
			found, err := atomsOf(message)
			if err != nil {
				return err
			}
			atoms = append(atoms, found...)
		}
		read[session] = atoms
	}
	return json.NewEncoder(os.Stdout).Encode(read)
}

func call(id, name, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}

func write(ctx context.Context, history *eino.History) error {
	image := &schema.MessageInputImage{MessagePartCommon: schema.MessagePartCommon{Base64Data: &pixel, MIMEType: "image/png"}}
	asked := &schema.Message{Role: schema.User, UserInputMultiContent: []schema.MessageInputPart{
		{Type: schema.ChatMessagePartTypeText, Text: "Compare the weather in Lisbon and Oslo with this map."},
		{Type: schema.ChatMessagePartTypeImageURL, Image: image},
	}}
	looking := schema.AssistantMessage("Let me look at both.", []schema.ToolCall{
		call("call_lisbon", "weather", `{"city": "Lisbon"}`), call("call_oslo", "weather", `{"city": "Oslo"}`),
	})
	looking.ReasoningContent = "Two cities need two calls."
	if err := history.Append(ctx, asked, looking,
		schema.ToolMessage(`{"celsius": 21, "sky": "clear"}`, "call_lisbon", schema.WithToolName("weather")),
		schema.ToolMessage("the station is offline", "call_oslo", schema.WithToolName("weather")),
		schema.AssistantMessage("Lisbon has 21 °C. Oslo's station is offline. Shall I book Lisbon?",
			[]schema.ToolCall{call("call_book", "book", `{"city": "Lisbon", "nights": 2}`)}),
	); err != nil {
		return err
	}
	return history.Append(ctx, schema.ToolMessage(`{"booked": true}`, "call_book", schema.WithToolName("book")),
		schema.AssistantMessage("Booked. Enjoy Lisbon. 🌞", nil))
}

func atomsOf(message *schema.Message) (atoms []atom, err error) {
	if message.Role == schema.Tool {
		return []atom{{"role": "tool", "kind": "result", "id": message.ToolCallID, "value": message.Content}}, nil
	}
	role := string(message.Role)
	if message.ReasoningContent != "" {
		atoms = append(atoms, atom{"role": role, "kind": "reasoning", "text": message.ReasoningContent})
	}
	if message.Content != "" {
		atoms = append(atoms, atom{"role": role, "kind": "text", "text": message.Content})
	}
	for _, part := range message.UserInputMultiContent {
		if part.Image != nil {
			atoms = append(atoms, atom{"role": role, "kind": "media", "mime": part.Image.MIMEType, "data": *part.Image.Base64Data})
		} else {
			atoms = append(atoms, atom{"role": role, "kind": "text", "text": part.Text})
		}
	}
	for _, call := range message.ToolCalls {
		var arguments map[string]any
		if err := json.Unmarshal([]byte(call.Function.Arguments), &arguments); err != nil {
			return nil, err
		}
		atoms = append(atoms, atom{"role": role, "kind": "call", "id": call.ID, "name": call.Function.Name, "arguments": arguments})
	}
	return atoms, nil
}
