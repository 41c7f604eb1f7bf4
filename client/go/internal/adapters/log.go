// Package adapters has what the adapters of frameworks share: a session as a list of messages, and events as their typed parts.
package adapters

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/threadkeep/threadkeep-go"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// longestPage is the maximum number of events that a page has.
const longestPage = 1000

// Options of a Log. The zero value is the whole window of a session with the server's defaults.
type Options struct {
	// Memory limits what is read, and says whether changes are sent; nil is the whole window.
	Memory *threadkeep.MemoryProvider
	// Create has the properties that the session gets with its first events.
	Create []threadkeep.CreateOption
	// Author is the agent that writes.
	Author string
}

// Log is a session as a list of messages. It is safe for concurrent use.
type Log struct {
	session *threadkeep.SessionHandle
	options Options

	mutex sync.Mutex
	// failed are the events of an append of which it is unknown whether they are stored, by what they were made of.
	failed struct {
		key    string
		events []*threadkeep.Event
	}
	// hasRead, readThrough and own say which events a caller of Replace knows of: those up to a seq, and its own.
	hasRead     bool
	readThrough int64
	own         map[string]bool
}

// NewLog returns the session of the client's app and user.
func NewLog[Option ~func(*Options)](client *threadkeep.Client, sessionID string, given []Option) *Log {
	var options Options
	for _, option := range given {
		option(&options)
	}
	session := client.Session(sessionID)
	if options.Memory != nil {
		session = session.WithMemory(*options.Memory)
	}
	return &Log{session: session, options: options, own: map[string]bool{}}
}

// Author returns the agent that writes.
func (l *Log) Author() string { return l.options.Author }

// Session returns the session.
func (l *Log) Session() *threadkeep.SessionHandle { return l.session }

// Read returns the events that the memory provider selects; none of a session that does not exist.
func (l *Log) Read(ctx context.Context) ([]*threadkeep.Event, error) {
	events, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.hasRead, l.readThrough, l.own = true, 0, map[string]bool{}
	for _, event := range events {
		l.readThrough = max(l.readThrough, event.GetSeq())
	}
	return events, nil
}

func (l *Log) read(ctx context.Context) ([]*threadkeep.Event, error) {
	if l.options.Memory == nil {
		events, _, err := l.window(ctx)
		return events, err
	}
	seen, err := l.session.GetContext(ctx)
	if errors.Is(err, threadkeep.ErrSessionNotFound) {
		return nil, nil
	}
	return seen.GetEvents(), err
}

// window returns the active window, and the version of the log when the read began.
func (l *Log) window(ctx context.Context) ([]*threadkeep.Event, threadkeep.LogVersion, error) {
	var events []*threadkeep.Event
	var version int64
	for token := ""; ; {
		page, err := l.session.EventsPage(ctx,
			threadkeep.WithFilter(threadkeep.Filter{View: pb.LogView_LOG_VIEW_ACTIVE}),
			threadkeep.WithPageSize(longestPage), threadkeep.WithPageToken(token))
		if err != nil {
			return nil, 0, err
		}
		if token == "" {
			version = page.GetLogVersion()
		}
		events = append(events, page.GetEvents()...)
		if token = page.GetNextPageToken(); token == "" {
			return events, threadkeep.LogVersion(version), nil
		}
	}
}

// Append appends events, all or none, and creates the session if it does not exist. If it fails, the next append with the same key
// sends the same events, which are then stored once, also if the failed call had stored them.
func (l *Log) Append(ctx context.Context, key string, made func() []*threadkeep.Event) error {
	l.mutex.Lock()
	var events []*threadkeep.Event
	if l.failed.events != nil && l.failed.key == key {
		events = l.failed.events
		l.failed.events = nil // A concurrent append of equal messages has events of its own.
	}
	l.mutex.Unlock()
	if events == nil {
		events = threadkeep.WithIDs(made())
	}
	if len(events) == 0 {
		return nil
	}
	_, err := l.session.Append(ctx, events, threadkeep.WithCreateIfMissing(l.options.Create...))
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err != nil {
		l.failed.key, l.failed.events = key, events
		return err
	}
	for _, event := range events {
		l.own[event.GetEventId()] = true
	}
	return nil
}

// Clear takes all events out of the window. The session stays.
func (l *Log) Clear(ctx context.Context) error {
	if !l.writes() {
		return nil
	}
	l.mutex.Lock()
	l.failed.events = nil
	l.mutex.Unlock()
	_, err := l.session.Clear(ctx)
	if errors.Is(err, threadkeep.ErrSessionNotFound) {
		return nil
	}
	return err
}

func (l *Log) writes() bool { return l.options.Memory == nil || l.options.Memory.Writes() }

// Replace replaces the window, in one change. wanted returns the new events for those of the window that the caller has read or
// appended; those among them that are kept stay as they are, the others are archived. Events that others appended since the
// caller's last read stay behind the new ones. Without an earlier read, all events of the window are replaced.
func (l *Log) Replace(ctx context.Context, wanted func(window []*threadkeep.Event) []*threadkeep.Event) error {
	if !l.writes() {
		return nil
	}
	for {
		window, version, err := l.window(ctx)
		if err != nil {
			return err
		}
		known, since := l.divided(window)
		events := slices.Concat(threadkeep.WithIDs(wanted(known)), since)
		if len(events) == 0 && len(window) == 0 {
			return nil
		}
		if version == 0 {
			if _, err = l.session.Append(ctx, events, threadkeep.WithCreateIfMissing(l.options.Create...)); err != nil {
				return err
			}
			l.know(events)
			return nil
		}
		replaced, err := l.replace(ctx, window, events, version)
		if err != nil {
			return err
		}
		if replaced {
			l.know(events)
			return nil
		}
	}
}

// replace reports false if the window has changed since it was read.
func (l *Log) replace(
	ctx context.Context, window, events []*threadkeep.Event, version threadkeep.LogVersion,
) (bool, error) {
	response, err := l.session.ReplaceEvents(ctx, events, version, threadkeep.WithStrategyName("set-messages"))
	if !errors.Is(err, threadkeep.ErrBrokenToolPair) {
		return response.GetReplaced(), err
	}
	// The caller wants a tool call without its result, or the reverse, which a compaction refuses.
	var ids []string
	for _, event := range window {
		ids = append(ids, event.GetEventId())
	}
	_, err = l.session.ReplaceSuffix(ctx, ids, events)
	if errors.Is(err, threadkeep.ErrVersionMismatch) {
		return false, nil
	}
	return err == nil, err
}

// divided divides the window into the events that the caller knows and those that others have appended since.
func (l *Log) divided(window []*threadkeep.Event) (known, since []*threadkeep.Event) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, event := range window {
		if l.hasRead && event.GetSeq() > l.readThrough && !l.own[event.GetEventId()] {
			since = append(since, event)
		} else {
			known = append(known, event)
		}
	}
	return known, since
}

func (l *Log) know(events []*threadkeep.Event) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, event := range events {
		l.own[event.GetEventId()] = true
	}
}
