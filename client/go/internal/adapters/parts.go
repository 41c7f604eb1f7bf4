package adapters

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/threadkeep/threadkeep-go"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Clean returns text that protobuf can encode: U+FFFD replaces what is not UTF-8.
func Clean(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// NewEvent returns an event with typed parts, and with the framework's own JSON as its native content.
func NewEvent(role pb.Role, parts []*threadkeep.Part, format string, native []byte) *threadkeep.Event {
	event := threadkeep.NewEvent(role, parts...)
	event.Native = &pb.NativeContent{Format: format, Content: native}
	return event
}

// Native returns the native content, if the event has this format and the content is a JSON object that fits into the target,
// without fields that the target does not have.
func Native(event *threadkeep.Event, format string, target any) bool {
	if event.GetNative().GetFormat() != format {
		return false
	}
	decoder := json.NewDecoder(strings.NewReader(string(event.GetNative().GetContent())))
	decoder.DisallowUnknownFields()
	return decoder.Decode(target) == nil
}

// CallPart returns a tool call. The kind is "function" if it is empty.
func CallPart(id, name, kind, arguments string) *threadkeep.Part {
	if kind == "" {
		kind = "function"
	}
	return &threadkeep.Part{Content: &pb.Part_ToolCall{ToolCall: &pb.ToolCallPart{
		Id: Clean(id), Name: Clean(name), Kind: Clean(kind), ArgumentsJson: Clean(arguments),
	}}}
}

// ResultPart returns the result of a tool call.
func ResultPart(callID, name string, content ...*threadkeep.Part) *threadkeep.Part {
	return &threadkeep.Part{Content: &pb.Part_ToolResult{ToolResult: &pb.ToolResultPart{
		CallId: Clean(callID), Name: Clean(name), Parts: content,
	}}}
}

// DataPart returns content that no other part represents, with a type in the framework's terms.
func DataPart(kind string, value any) *threadkeep.Part {
	text, err := json.Marshal(value)
	if err != nil {
		text = []byte("null")
	}
	return &threadkeep.Part{Content: &pb.Part_Data{Data: &pb.DataPart{Type: kind, Json: string(text)}}}
}

// URLMedia returns media of a URL. A data URL becomes bytes.
func URLMedia(mimeType, url string) *threadkeep.Part {
	if head, data, found := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,"); found && strings.HasPrefix(url, "data:") {
		if decoded, err := base64.StdEncoding.DecodeString(data); err == nil {
			kind, _, _ := strings.Cut(head, ";")
			return threadkeep.InlineMedia(Clean(kind), decoded)
		}
	}
	return threadkeep.Media(Clean(mimeType), Clean(url))
}

// ResultText returns a result as text: its texts, else its structured JSON.
func ResultText(result *pb.ToolResultPart) string {
	var texts []string
	for _, part := range result.GetParts() {
		switch content := part.GetContent().(type) {
		case *pb.Part_Text:
			texts = append(texts, content.Text)
		case *pb.Part_Data:
			texts = append(texts, content.Data.GetJson())
		}
	}
	if len(texts) == 0 {
		return result.GetStructuredJson()
	}
	return strings.Join(texts, "\n")
}

// CallNames returns the names of tools by the ids of their calls, for results that have no name.
func CallNames(events []*threadkeep.Event) map[string]string {
	names := map[string]string{}
	for _, event := range events {
		for _, part := range event.GetMessage().GetParts() {
			if call := part.GetToolCall(); call != nil {
				names[call.GetId()] = call.GetName()
			}
		}
	}
	return names
}

// Arguments returns the arguments of a tool call as JSON text; an empty object if there are none.
func Arguments(call *pb.ToolCallPart) string {
	if strings.TrimSpace(call.GetArgumentsJson()) == "" {
		return "{}"
	}
	return call.GetArgumentsJson()
}
