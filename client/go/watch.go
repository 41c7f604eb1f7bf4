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
	// Time without a frame after which a stream is considered dead: two heartbeats of the server.
	longestSilence = 30 * time.Second
	// The upper bound of the first pause, which doubles with each consecutive failure, and its maximum.
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// WatchOption configures a watch.
type WatchOption interface {
	applyTo(*subscription)
}

type watchOption func(*subscription)

func (o watchOption) applyTo(s *subscription) { o(s) }

// Checkpoints delivers checkpoints too. The first item is then one of kind STARTED, which confirms that no change committed
// later will be missed.
func Checkpoints() WatchOption {
	return watchOption(func(s *subscription) { s.checkpoints = true })
}

// MaxRetries sets the maximum number of consecutive times that the stream is reopened. Default, and if negative: no limit.
func MaxRetries(n int) WatchOption {
	return watchOption(func(s *subscription) { s.maxRetries = n })
}

// Watch watches the changes of the session, which need not exist yet. Each change is delivered once, in order; an append is one
// change.
//
//	everything := &threadkeepv1.WatchSessionRequest{Start: &threadkeepv1.WatchSessionRequest_AfterSeq{AfterSeq: 0}}
//	for change, err := range trip.Watch(ctx, everything) {
//		if err != nil {
//			return err
//		}
//		...
//	}
//
// It starts with changes committed from now on, unless the request says otherwise. The handle's session replaces that of the
// request. Store the resume token of a change after handling it; a Watch that starts at that token resumes after the change.
//
// It has no deadline except that of ctx. If the server is unavailable, or silent for 30 seconds, the stream is reopened where
// it stopped, after a pause of up to 0.1 seconds that doubles up to 5 seconds, and at least the server's retry delay. Leaving
// the loop ends the call, as does the end of ctx. Only the connection's flow-control window is read ahead of the loop. Each
// range over the result is a separate subscription.
//
// An error comes with a nil change and is the last item: the error of ctx if it ended; SessionNotFound and AmbiguousSession for
// a session without a user; InvalidResumeToken; QuotaExceeded; and ResumePositionExpired if the feed no longer has the next
// changes. Changes were then missed, so read the sessions again before starting at Metadata["oldest_resume_token"].
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

// WatchAll watches the changes of all sessions in the scope of the request, like Session.Watch. An app or user that the scope
// leaves empty is the client's, unless AllApps or AllUsers is given; with both, only the token limits the scope.
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
	maxRetries  int
	failures    int // consecutive
	at          cursor
}

// follow opens one stream after another, each where the previous one stopped.
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
func (s *subscription) pauseAfter(err error) (time.Duration, bool) {
	var e *Error
	if !errors.As(err, &e) || (e.Code != codes.Unavailable && e.RetryAfter == 0) || s.failures == s.maxRetries {
		return 0, false
	}
	longest := min(longestPause, firstPause<<min(s.failures, 10))
	s.failures++
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
