package eino

import (
	"bytes"
	"context"
	"errors"

	"github.com/cloudwego/eino/schema"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/internal/adapters"
)

// History is the messages of a session of Threadkeep. All methods store before they return; it is safe for concurrent use. A failed
// call returns a *threadkeep.Error.
type History struct{ log *adapters.Log }

// Option configures a History.
type Option func(*adapters.Options)

// WithAuthor names the agent that writes, for readers of the session: it is the author of the model's messages without a name.
// Default: none.
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

// NewHistory returns the history of a session of the client's app and user. The first message creates the session.
func NewHistory(client *threadkeep.Client, sessionID string, options ...Option) *History {
	return &History{adapters.NewLog(client, sessionID, options)}
}

// Session returns the session, for all that a history does not offer: search, watch, compaction, forks.
func (h *History) Session() *threadkeep.SessionHandle { return h.log.Session() }

// Messages returns the messages in order, those of other frameworks as messages of Eino. A session that does not exist has none.
func (h *History) Messages(ctx context.Context) ([]*schema.Message, error) {
	events, err := h.log.Read(ctx)
	if err != nil {
		return nil, err
	}
	messages := []*schema.Message{}
	for _, group := range groupsOf(events) {
		messages = append(messages, group.Messages...)
	}
	return messages, nil
}

// Append appends messages, all or none. If it fails and the same messages are appended next, they are stored once, also if the
// failed call had stored them. A value of Extra that has no JSON is an error.
func (h *History) Append(ctx context.Context, messages ...*schema.Message) error {
	events, err := h.eventsOf(messages)
	if err != nil {
		return err
	}
	var key bytes.Buffer
	for _, event := range events {
		key.Write(append(event.GetNative().GetContent(), '\n'))
	}
	return h.log.Append(ctx, key.String(), func() []*threadkeep.Event { return events })
}

// Replace replaces the messages, in one change. Messages that are there already stay the events that they are; what leaves the window
// is archived and found by searches. What others appended since the last Messages stays, after the new messages. It requires the
// role compactor.
func (h *History) Replace(ctx context.Context, messages []*schema.Message) error {
	if _, err := h.eventsOf(messages); err != nil {
		return err
	}
	return h.log.Replace(ctx, func(window []*threadkeep.Event) []*threadkeep.Event {
		return adapters.Kept(groupsOf(window), messages, sameJSON, func(message *schema.Message) *threadkeep.Event {
			event, _ := h.eventOf(message) // It has no error: it was made before.
			return event
		})
	})
}

// Clear removes all messages. The session stays, with its labels, state and watchers; what is removed is archived.
func (h *History) Clear(ctx context.Context) error { return h.log.Clear(ctx) }

func (h *History) eventsOf(messages []*schema.Message) ([]*threadkeep.Event, error) {
	events := make([]*threadkeep.Event, len(messages))
	for i, message := range messages {
		if message == nil {
			return nil, errors.New("eino: a message is nil")
		}
		var err error
		if events[i], err = h.eventOf(message); err != nil {
			return nil, err
		}
	}
	return events, nil
}
