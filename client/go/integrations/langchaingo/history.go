package langchaingo

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/internal/adapters"
)

// ChatMessageHistory is the messages of a session of Threadkeep. All methods store before they return; it is safe for concurrent
// use. A failed call returns a *threadkeep.Error.
type ChatMessageHistory struct{ log *adapters.Log }

var _ schema.ChatMessageHistory = (*ChatMessageHistory)(nil)

// Option configures a ChatMessageHistory.
type Option func(*adapters.Options)

// WithAuthor names the agent that writes, for readers of the session: it is the author of the model's messages. Default: none.
func WithAuthor(name string) Option {
	return func(o *adapters.Options) { o.Author = name }
}

// WithMemory limits what is read, for example to threadkeep.LimitedWindow().MaxTurns(20), and says whether anything is written:
// with threadkeep.ReadOnly() all changes are dropped. Default: the whole active window is read, and changes are written.
func WithMemory(provider threadkeep.MemoryProvider) Option {
	return func(o *adapters.Options) { o.Memory = &provider }
}

// WithCreate sets the properties that the session gets with its first message, for example threadkeep.WithTTL. Default: those of
// the server.
func WithCreate(properties ...threadkeep.CreateOption) Option {
	return func(o *adapters.Options) { o.Create = properties }
}

// New returns the history of a session of the client's app and user. The first message creates the session.
func New(client *threadkeep.Client, sessionID string, options ...Option) *ChatMessageHistory {
	return &ChatMessageHistory{adapters.NewLog(client, sessionID, options)}
}

// Session returns the session, for all that a history does not offer: search, watch, compaction, forks.
func (h *ChatMessageHistory) Session() *threadkeep.SessionHandle { return h.log.Session() }

// AddMessage appends a message: one of the types of llms, or another one by its type and content.
func (h *ChatMessageHistory) AddMessage(ctx context.Context, message llms.ChatMessage) error {
	return h.AddMessages(ctx, message)
}

// AddUserMessage appends a message of the user.
func (h *ChatMessageHistory) AddUserMessage(ctx context.Context, message string) error {
	return h.AddMessages(ctx, llms.HumanChatMessage{Content: message})
}

// AddAIMessage appends a message of the model.
func (h *ChatMessageHistory) AddAIMessage(ctx context.Context, message string) error {
	return h.AddMessages(ctx, llms.AIChatMessage{Content: message})
}

// AddMessages appends messages, all or none. If it fails and the same messages are added next, they are stored once, also if the
// failed call had stored them.
func (h *ChatMessageHistory) AddMessages(ctx context.Context, messages ...llms.ChatMessage) error {
	events, err := made(messages, h.chatEvent)
	if err != nil {
		return err
	}
	return h.log.Append(ctx, keyOf(events), func() []*threadkeep.Event { return events })
}

// AddContents appends messages as models receive them, with media, tool calls and results; see AddMessages.
func (h *ChatMessageHistory) AddContents(ctx context.Context, messages ...llms.MessageContent) error {
	events, err := made(messages, h.contentEvent)
	if err != nil {
		return err
	}
	return h.log.Append(ctx, keyOf(events), func() []*threadkeep.Event { return events })
}

// Messages returns the messages in order, those of other frameworks as types of llms. A chat message has text only: Contents
// returns media too. A session that does not exist has none.
func (h *ChatMessageHistory) Messages(ctx context.Context) ([]llms.ChatMessage, error) {
	events, err := h.log.Read(ctx)
	if err != nil {
		return nil, err
	}
	messages := []llms.ChatMessage{}
	for _, group := range chatGroups(events) {
		messages = append(messages, group.Messages...)
	}
	return messages, nil
}

// Contents returns the messages as models receive them, to begin a call of llms.Model.GenerateContent. Reasoning is left out, which
// this form does not have.
func (h *ChatMessageHistory) Contents(ctx context.Context) ([]llms.MessageContent, error) {
	events, err := h.log.Read(ctx)
	if err != nil {
		return nil, err
	}
	contents := []llms.MessageContent{}
	for _, group := range contentGroups(events) {
		contents = append(contents, group.Messages...)
	}
	return contents, nil
}

// SetMessages replaces the messages, in one change, as memories do that forget the oldest ones. Messages that are there already stay
// the events that they are; what leaves the window is archived and found by searches. What others appended since the last Messages
// or Contents stays, after the new messages. It requires the role compactor.
func (h *ChatMessageHistory) SetMessages(ctx context.Context, messages []llms.ChatMessage) error {
	if _, err := made(messages, h.chatEvent); err != nil {
		return err
	}
	return h.log.Replace(ctx, func(window []*threadkeep.Event) []*threadkeep.Event {
		return adapters.Kept(chatGroups(window), messages, equalMessages, func(message llms.ChatMessage) *threadkeep.Event {
			event, _ := h.chatEvent(message) // It has no error: it was made before.
			return event
		})
	})
}

// Clear removes all messages. The session stays, with its labels, state and watchers; what is removed is archived.
func (h *ChatMessageHistory) Clear(ctx context.Context) error { return h.log.Clear(ctx) }

func made[M any](messages []M, event func(M) (*threadkeep.Event, error)) ([]*threadkeep.Event, error) {
	events := make([]*threadkeep.Event, len(messages))
	for i, message := range messages {
		var err error
		if events[i], err = event(message); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// keyOf says what messages were given: their native content.
func keyOf(events []*threadkeep.Event) string {
	natives := make([]string, len(events))
	for i, event := range events {
		natives[i] = event.GetNative().GetFormat() + string(event.GetNative().GetContent())
	}
	key, err := json.Marshal(natives)
	if err != nil {
		panic(err) // Texts have JSON.
	}
	return string(key)
}

func equalMessages(a, b llms.ChatMessage) bool { return reflect.DeepEqual(a, valueOf(b)) }

var errNoMessage = errors.New("langchaingo: a message is nil")

// valueOf returns the message behind a pointer, and the message itself otherwise; nil for a nil pointer.
func valueOf(message llms.ChatMessage) llms.ChatMessage {
	value := reflect.ValueOf(message)
	if !value.IsValid() || value.Kind() != reflect.Pointer {
		return message
	}
	if value.IsNil() {
		return nil
	}
	if pointed, ok := value.Elem().Interface().(llms.ChatMessage); ok {
		return pointed
	}
	return message
}
