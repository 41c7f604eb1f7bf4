package threadkeep

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

const (
	// Time without a frame after which a stream is considered dead: two heartbeats of the server.
	longestSilence = 30 * time.Second
	// The upper bound of the first pause, which doubles with each consecutive failure, and its maximum.
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// Start is where a watch starts; see From.
type Start interface{ start() }

// Token starts after the change with this resume token.
type Token string

// AfterSeq starts after the event with this seq of the session; 0 is the beginning of its log.
type AfterSeq int64

type beginning struct{}

// Beginning starts at the beginning of the session's log, or of the feed as far as it reaches back.
var Beginning Start = beginning{}

func (Token) start()     {}
func (AfterSeq) start()  {}
func (beginning) start() {}

type (
	startOption func(*settings)
	watchOption func(*settings)
)

func (o startOption) forWatch(s *settings)    { o(s) }
func (o startOption) forWatchAll(s *settings) { o(s) }
func (o watchOption) forWatch(s *settings)    { o(s) }
func (o watchOption) forWatchAll(s *settings) { o(s) }

// From says where a watch starts: From(Token(kept)), From(Beginning), or for one session From(AfterSeq(7)). By default it starts
// with changes committed from now on. An empty Token is ErrInvalidResumeToken.
func From(start Start) interface {
	WatchOption
	WatchAllOption
} {
	return startOption(func(s *settings) { s.start = start })
}

// Checkpoints delivers checkpoints too. The first item is then one of kind STARTED, which confirms that no change committed
// later will be missed.
func Checkpoints() interface {
	WatchOption
	WatchAllOption
} {
	return watchOption(func(s *settings) { s.checkpoints = true })
}

// MaxRetries sets the maximum number of consecutive times that the stream is reopened. Default, and if negative: no limit.
func MaxRetries(n int) interface {
	WatchOption
	WatchAllOption
} {
	return watchOption(func(s *settings) { s.maxRetries = &n })
}

// Watch watches the changes of the session, which need not exist yet. Each change is delivered once, in order; an append is one
// change.
//
//	for change, err := range trip.Watch(ctx, threadkeep.From(threadkeep.Token(kept))) {
//		if err != nil {
//			return err
//		}
//		...
//		kept = change.GetResumeToken()
//	}
//
// Store the resume token of a change after handling it; a Watch from that token with the same filter resumes after the change.
//
// It has no deadline except that of ctx. If the server is unavailable, or silent for 30 seconds, the stream is reopened where
// it stopped, after a pause of up to 0.1 seconds that doubles up to 5 seconds, and at least the server's retry delay. Leaving
// the loop ends the call, as does the end of ctx. Only the connection's flow-control window is read ahead of the loop. Each
// range over the result is a separate subscription.
//
// An error comes with a nil change and is the last item: the error of ctx if it ended; ErrSessionNotFound and
// ErrAmbiguousSession for a session without a user; ErrInvalidResumeToken; ErrQuotaExceeded; and ErrResumePositionExpired if the
// feed no longer has the next changes. Changes were then missed, so read the sessions again before starting at
// Metadata["oldest_resume_token"].
func (s *SessionHandle) Watch(ctx context.Context, opts ...WatchOption) iter.Seq2[*Change, error] {
	given := settingsOf(opts, WatchOption.forWatch)
	request := &pb.WatchSessionRequest{Session: s.ref, Filter: given.filter}
	switch start := given.start.(type) {
	case Token:
		request.Start = &pb.WatchSessionRequest_ResumeToken{ResumeToken: string(start)}
	case AfterSeq:
		request.Start = &pb.WatchSessionRequest_AfterSeq{AfterSeq: int64(start)}
	case beginning:
		request.Start = &pb.WatchSessionRequest_AfterSeq{AfterSeq: 0}
	}
	return s.client.follow(ctx, given, func(ctx context.Context, token string) (receive, error) {
		stream, err := s.client.raw.Subscriptions.WatchSession(ctx, startedAt(request, token))
		return func() (frame, error) { return stream.Recv() }, err
	})
}

// WatchAll watches the changes of all sessions of the client's user and app, or of another scope, like SessionHandle.Watch. With
// AnyUser and AnyApp only the token limits the scope.
func (c *Client) WatchAll(ctx context.Context, opts ...WatchAllOption) iter.Seq2[*Change, error] {
	given := settingsOf(opts, WatchAllOption.forWatchAll)
	request := &pb.WatchAllRequest{Scope: c.changeScope(given), Filter: given.filter}
	switch start := given.start.(type) {
	case Token:
		request.Start = &pb.WatchAllRequest_ResumeToken{ResumeToken: string(start)}
	case AfterSeq:
		given.fail("AfterSeq requires one session")
	case beginning:
		request.Start = &pb.WatchAllRequest_FromBeginning{FromBeginning: true}
	}
	return c.follow(ctx, given, func(ctx context.Context, token string) (receive, error) {
		stream, err := c.raw.Subscriptions.WatchAll(ctx, startedAt(request, token))
		return func() (frame, error) { return stream.Recv() }, err
	})
}

// startedAt returns a copy of the request that starts at the token; with an empty token, at the start of the request.
func startedAt[Q proto.Message](request Q, token string) Q {
	own := proto.CloneOf(request)
	if token != "" {
		setToken(own, "resume_token", token)
	}
	return own
}

type (
	frame   interface{ GetChanges() []*Change }
	receive func() (frame, error)
	opener  func(ctx context.Context, token string) (receive, error)
)

// subscription is one range over the result of Watch.
type subscription struct {
	client      *Client
	checkpoints bool
	backoff
	at cursor
}

// backoff computes the pauses before a stream is opened again.
type backoff struct {
	maxRetries int // negative: no limit
	failures   int // consecutive
}

// follow opens one stream after another, each where the previous one stopped.
func (c *Client) follow(ctx context.Context, given *settings, open opener) iter.Seq2[*Change, error] {
	return func(yield func(*Change, error) bool) {
		if given.err != nil {
			yield(nil, given.err)
			return
		}
		s := &subscription{client: c, checkpoints: given.checkpoints, backoff: backoff{maxRetries: -1}}
		if given.maxRetries != nil {
			s.maxRetries = *given.maxRetries
		}
		for {
			err := s.drain(ctx, open, yield)
			if err == nil {
				return // the loop was left
			}
			wait, mendable := s.pauseAfter(err)
			if !mendable {
				yield(nil, err)
				return
			}
			if c.log != nil {
				c.log.WarnContext(ctx, "threadkeep: a watch is reopened", "pause", wait, "error", err)
			}
			c.pause(ctx, wait)
		}
	}
}

// drain delivers the changes of one stream. Its error is nil only if the loop was left. The call is over when it returns.
func (s *subscription) drain(ctx context.Context, open opener, yield func(*Change, error) bool) error {
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The clock runs only while waiting for a frame, because time in the loop is not silence of the server.
	clock := time.AfterFunc(s.client.silence, cancel)
	s.at.parts = nil // of an incomplete change, which will be delivered again
	next, err := open(callCtx, s.at.token)
	for {
		var arrived frame
		if err == nil {
			arrived, err = next()
		}
		if !clock.Stop() {
			message := fmt.Sprintf("no heartbeat from %s for %s", s.client.address, s.client.silence)
			return &Error{Code: codes.Unavailable, Message: message}
		}
		if err == io.EOF {
			return &Error{Code: codes.Unavailable, Message: "the server ended the stream"}
		}
		if err != nil {
			return err
		}
		s.failures = 0
		for _, part := range arrived.GetChanges() {
			change := s.at.take(part)
			if change == nil || (change.GetCheckpoint() != nil && !s.checkpoints) {
				continue
			}
			if ctx.Err() != nil {
				return s.client.typed(ctx, ctx.Err())
			}
			if !yield(change, nil) {
				return nil
			}
		}
		clock.Reset(s.client.silence)
	}
}

// pauseAfter returns the pause after this failure, at least the server's retry delay, with full jitter, so that clients of one
// server do not reconnect at once. It returns false if another stream cannot succeed.
func (b *backoff) pauseAfter(err error) (time.Duration, bool) {
	var e *Error
	if !errors.As(err, &e) || !e.IsTransient() || b.failures == b.maxRetries {
		return 0, false
	}
	longest := min(longestPause, firstPause<<min(b.failures, 10))
	b.failures++
	return e.RetryAfter + rand.N(longest+1), true
}

// pause waits, but not beyond the end of the context or the client, which the next call reports.
func (c *Client) pause(ctx context.Context, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-c.open.Done():
	}
}

// Number of sessions whose last version is remembered; sometimes twice as many.
const rememberedSessions = 4096

// cursor is the state of a subscription: the last resume token, the parts of an incomplete change, and the delivered versions.
type cursor struct {
	token string
	parts []*Change
	// The last version of each session. recent contains those that changed last; when full, it becomes older.
	recent, older map[[3]string]int64
}

// take returns the change if it is complete and new, or nil if parts are missing, it is a repetition, or its kind is unknown.
func (c *cursor) take(change *Change) *Change {
	batch, compaction, removal := change.GetBatch(), change.GetCompaction(), change.GetRemoval()
	if batch.GetContinues() || compaction.GetContinues() || removal.GetContinues() {
		c.parts = append(c.parts, change)
		return nil
	}
	if len(c.parts) > 0 && (batch != nil || compaction != nil || removal != nil) {
		change = joined(append(c.parts, change))
		c.parts = nil
	}
	if change.GetResumeToken() != "" {
		c.token = change.GetResumeToken()
	}
	if change.GetKind() == nil || !c.isNew(change) {
		return nil
	}
	return change
}

// isNew reports whether the session was at an older version. The resume token prevents repetitions; the session's versions,
// which only increase, verify it.
func (c *cursor) isNew(change *Change) bool {
	ref := change.GetSession()
	key := [3]string{ref.GetApp(), ref.GetUserId(), ref.GetSessionId()}
	if s := change.GetSessionChange(); s != nil && s.GetKind() != pb.SessionChangeKind_SESSION_CHANGE_KIND_UPDATED {
		delete(c.recent, key) // a session of this name begins or ends, so its versions are no longer valid
		delete(c.older, key)
	}
	version := change.GetVersions().GetLogVersion()
	if version == 0 {
		return true
	}
	if version <= max(c.recent[key], c.older[key]) {
		return false
	}
	if c.recent == nil || len(c.recent) == rememberedSessions {
		c.recent, c.older = map[[3]string]int64{}, c.recent
	}
	c.recent[key] = version
	return true
}

// joined returns one change from its parts: the events of all, and the token, time and versions of the last.
func joined(parts []*Change) *Change {
	var events []*Event
	for _, part := range parts {
		events = append(events, part.GetBatch().GetEvents()...)
		events = append(events, part.GetCompaction().GetInserted()...)
		events = append(events, part.GetRemoval().GetInserted()...)
	}
	whole := parts[len(parts)-1]
	if compaction := whole.GetCompaction(); compaction != nil {
		compaction.Compaction, compaction.Inserted = parts[0].GetCompaction().GetCompaction(), events
	} else if removal := whole.GetRemoval(); removal != nil {
		removal.Inserted = events
	} else {
		whole.GetBatch().Events = events
	}
	return whole
}
