// Golden writes the golden conversation through the adapter, or reads some: see the package internal/golden of the client.
package main

import (
	"context"

	"github.com/cloudwego/eino/schema"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/integrations/eino"
	"github.com/threadkeep/threadkeep-go/internal/golden"
)

var pixel = golden.Pixel

func main() { golden.Main(write, read) }

func read(ctx context.Context, client *threadkeep.Client, session string) ([]golden.Atom, error) {
	messages, err := eino.NewHistory(client, session).Messages(ctx)
	if err != nil {
		return nil, err
	}
	atoms := []golden.Atom{}
	for _, message := range messages {
		found, err := atomsOf(message)
		if err != nil {
			return nil, err
		}
		atoms = append(atoms, found...)
	}
	return atoms, nil
}

func call(id, name, arguments string) schema.ToolCall {
	return schema.ToolCall{ID: id, Type: "function", Function: schema.FunctionCall{Name: name, Arguments: arguments}}
}

func write(ctx context.Context, client *threadkeep.Client, session string) error {
	history := eino.NewHistory(client, session)
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

func atomsOf(message *schema.Message) (atoms []golden.Atom, err error) {
	if message.Role == schema.Tool {
		return []golden.Atom{{"role": "tool", "kind": "result", "id": message.ToolCallID, "value": message.Content}}, nil
	}
	role := string(message.Role)
	if message.ReasoningContent != "" {
		atoms = append(atoms, golden.Atom{"role": role, "kind": "reasoning", "text": message.ReasoningContent})
	}
	if message.Content != "" {
		atoms = append(atoms, golden.Atom{"role": role, "kind": "text", "text": message.Content})
	}
	for _, part := range message.UserInputMultiContent {
		if part.Image != nil {
			atoms = append(atoms, golden.Atom{"role": role, "kind": "media", "mime": part.Image.MIMEType, "data": *part.Image.Base64Data})
		} else {
			atoms = append(atoms, golden.Atom{"role": role, "kind": "text", "text": part.Text})
		}
	}
	for _, call := range message.ToolCalls {
		atom, err := golden.Call(role, call.ID, call.Function.Name, call.Function.Arguments)
		if err != nil {
			return nil, err
		}
		atoms = append(atoms, atom)
	}
	return atoms, nil
}
