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

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

const (
	// Without a frame for so long, two heartbeats of the server, a stream is taken for dead.
	longestSilence = 30 * time.Second
	// The upper bound of the first pause, which doubles with every failure in a row, and where it stays.
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// WatchOption says how changes are followed.
type WatchOption interface {
	applyTo(*subscription)
}

type watchOption func(*subscription)

func (o watchOption) applyTo(s *subscription) { o(s) }

// Checkpoints hands out checkpoints too. The first item is then one of kind STARTED, which says that nothing that is committed
// later will be missed.
func Checkpoints() WatchOption {
	return watchOption(func(s *subscription) { s.checkpoints = true })
}

// MaxRetries is how often in a row the stream is opened again. Default, and if negative: for ever.
func MaxRetries(n int) WatchOption {
	return watchOption(func(s *subscription) { s.maxRetries = n })
}

// Watch follows every change of the session, which need not exist yet: in order, each once, an append as a whole.
//
//	everything := &threadkeepv1.WatchSessionRequest{Start: &threadkeepv1.WatchSessionRequest_AfterSeq{AfterSeq: 0}}
//	for change, err := range trip.Watch(ctx, everything) {
//		if err != nil {
//			return err
//		}
//		...
//	}
//
// It starts with what is committed from now on, unless the request says otherwise, whose session is this one. Keep a change's
// resume token once the change is handled: a Watch that starts at it goes on after that change.
//
// It has no deadline but that of ctx. When the server is unavailable, or silent for 30 seconds, the stream is opened again where
// it stood, after a pause of up to 0.1 seconds that doubles up to 5, and as long as the server asks for. Leaving the loop ends the
// call, as does the end of ctx. Nothing is read ahead of the loop but what the connection's window holds. Each range over the
// result is a subscription of its own.
//
// An error comes with a nil change and is the last item: that of ctx when it ended; SessionNotFound and AmbiguousSession of a
// session without user; InvalidResumeToken; QuotaExceeded; and ResumePositionExpired when the feed no longer holds what comes
// next: then changes were missed, so read the sessions again before you start at Metadata["oldest_resume_token"].
func (s *Session) Watch(
	ctx context.Context, request *threadkeepv1.WatchSessionRequest, opts ...WatchOption,
) iter.Seq2[*Change, error] {
	own := copyOf(request)
	own.Session = s.ref
	return s.client.follow(ctx, opts, func(ctx context.Context, token string) (receive, error) {
		stream, err := s.client.Subscriptions.WatchSession(ctx, startedAt(own, token))
		return func() (frame, error) { return stream.Recv() }, err
	})
}

// WatchAll follows every change of all sessions of the request's scope, like Session.Watch. An app or user that the scope leaves
// empty is the client's, unless AllApps or AllUsers is given; with both, no other limits but the token's hold.
func (c *Client) WatchAll(
	ctx context.Context, request *threadkeepv1.WatchAllRequest, opts ...WatchOption,
) iter.Seq2[*Change, error] {
	own, whose := copyOf(request), reachOf(c, opts)
	own.Scope = copyOf(own.Scope)
	own.Scope.App, own.Scope.UserId = whose.app(own.Scope.App), whose.user(own.Scope.UserId)
	return c.follow(ctx, opts, func(ctx context.Context, token string) (receive, error) {
		stream, err := c.Subscriptions.WatchAll(ctx, startedAt(own, token))
		return func() (frame, error) { return stream.Recv() }, err
	})
}

// startedAt is a copy of the request that starts at the token, where the request says if that is empty.
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

// subscription is one range over what Watch returned.
type subscription struct {
	client      *Client
	checkpoints bool
	maxRetries  int
	failures    int // in a row
	at          cursor
}

// follow opens stream after stream, each where the one before it stood.
func (c *Client) follow(ctx context.Context, opts []WatchOption, open opener) iter.Seq2[*Change, error] {
	return func(yield func(*Change, error) bool) {
		s := &subscription{client: c, maxRetries: -1}
		for _, option := range opts {
			option.applyTo(s)
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
			c.pause(ctx, wait)
		}
	}
}

// drain hands out the changes of one stream; its end is an error too, nil that the loop was left. However it returns, the call is
// over.
func (s *subscription) drain(ctx context.Context, open opener, yield func(*Change, error) bool) error {
	callCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	// What the loop takes is not the server's silence, so the clock runs while a frame is awaited only.
	clock := time.AfterFunc(s.client.silence, cancel)
	s.at.parts = nil // of a change that did not arrive as a whole: it will come again
	next, err := open(callCtx, s.at.token)
	for {
		var arrived frame
		if err == nil {
			arrived, err = next()
		}
		if !clock.Stop() {
			message := fmt.Sprintf("no sign of life from %s for %s", s.client.address, s.client.silence)
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
				return s.client.typed(ctx.Err())
			}
			if !yield(change, nil) {
				return nil
			}
		}
		clock.Reset(s.client.silence)
	}
}

// pauseAfter is how long to wait after this failure, at least what the server asked for; with full jitter, so that clients that lost
// one server do not come back all at once. false: no other stream can mend it.
func (s *subscription) pauseAfter(err error) (time.Duration, bool) {
	var e *Error
	if !errors.As(err, &e) || (e.Code != codes.Unavailable && e.RetryAfter == 0) || s.failures == s.maxRetries {
		return 0, false
	}
	longest := min(longestPause, firstPause<<min(s.failures, 10))
	s.failures++
	return e.RetryAfter + rand.N(longest+1), true
}

// pause waits, but not beyond the end of the context or of the client, which the next call then tells.
func (c *Client) pause(ctx context.Context, wait time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	select {
	case <-ctx.Done():
	case <-c.open.Done():
	}
}
