package recollect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/recollect-dev/recollect-go/recollect/v1"
)

// Without a frame for so long, two heartbeats of the server, a stream is taken for dead.
const longestSilence = 30 * time.Second

var errSilence = errors.New("no sign of life")

// WatchOption says what is followed, and from where.
type WatchOption func(*watching)

// ResumeAfter starts after the change that bore this resume token, of a subscription to the same with the same filter.
func ResumeAfter(token string) WatchOption {
	return func(w *watching) { w.starts++; w.from.token = &token }
}

// AfterSeq starts with what comes after this seq; of one session only.
func AfterSeq(seq int64) WatchOption {
	return func(w *watching) { w.starts++; w.from.afterSeq = &seq }
}

// FromBeginning starts at the beginning of the session, or of the feed as far as it reaches back.
func FromBeginning() WatchOption {
	return func(w *watching) { w.starts++; w.from.beginning = true }
}

// Filtered delivers only events that match the filter, which has no window. An append of which nothing is left is not told.
func Filtered(filter *EventFilter) WatchOption {
	return func(w *watching) { w.filter = filter }
}

// Checkpoints hands out checkpoints too. The first item is then one of kind STARTED, which says that nothing that is committed
// later will be missed.
func Checkpoints() WatchOption {
	return func(w *watching) { w.checkpoints = true }
}

// MaxRetries is how often in a row the stream is opened again, at least 0. Default: for ever.
func MaxRetries(n int) WatchOption {
	return func(w *watching) { w.maxRetries, w.badRetries = n, n < 0 }
}

// watching is what a subscription was told.
type watching struct {
	filter      *EventFilter
	from        start
	starts      int
	checkpoints bool
	maxRetries  int
	badRetries  bool
}

// start is a place in the feed; its zero is what is committed from now on.
type start struct {
	token     *string
	afterSeq  *int64
	beginning bool
}

func newWatching(opts []WatchOption) watching {
	w := watching{maxRetries: -1}
	for _, option := range opts {
		option(&w)
	}
	return w
}

// frames hands out the changes of a stream's next message.
type frames func() ([]*Change, error)

type opener func(ctx context.Context, w *watching, from start) (frames, error)

// Watch follows every change of the session, which need not exist yet: in order, each once, an append as a whole.
//
//	for change, err := range trip.Watch(ctx, recollect.FromBeginning()) {
//		if err != nil {
//			return err
//		}
//		...
//	}
//
// It starts with what is committed from now on, unless an option says otherwise. Keep a change's resume token once the change is
// handled: a Watch with ResumeAfter goes on after it.
//
// It has no deadline but that of ctx. When the server is unavailable, or silent for 30 seconds, the stream is opened again where
// it stood, after a pause of up to 0.1 seconds that doubles up to 5, and as long as the server asks for. Leaving the loop ends the
// call, as does the end of ctx. Nothing is read ahead of the loop but what the connection's window holds. Each range over the
// result is a subscription of its own.
//
// An error comes with a nil change and is the last item: that of ctx when it ended; SessionNotFound and AmbiguousSession of a
// session without user; InvalidResumeToken; QuotaExceeded; and ResumePositionExpired when the feed no longer holds what comes
// next: then changes were missed, so read the sessions again before you start at Metadata["oldest_resume_token"].
func (s *Session) Watch(ctx context.Context, opts ...WatchOption) iter.Seq2[*Change, error] {
	return s.client.follow(ctx, newWatching(opts), s.openWatch)
}

// Watch follows every change of all sessions of the scope, like Session.Watch. A nil scope is the client's user and app; an empty
// one is the whole tenant.
func (c *Client) Watch(ctx context.Context, scope *ChangeScope, opts ...WatchOption) iter.Seq2[*Change, error] {
	if scope == nil {
		scope = &ChangeScope{App: c.anyOr(c.app), UserId: c.userID}
	}
	w := newWatching(opts)
	if w.from.afterSeq != nil {
		return failed(errors.New("recollect: AfterSeq is a place in one session: watch the session"))
	}
	return c.follow(ctx, w, func(ctx context.Context, w *watching, from start) (frames, error) {
		request := &recollectv1.WatchAllRequest{Scope: scope, Filter: w.filter}
		switch {
		case from.token != nil:
			request.Start = &recollectv1.WatchAllRequest_ResumeToken{ResumeToken: *from.token}
		case from.beginning:
			request.Start = &recollectv1.WatchAllRequest_FromBeginning{FromBeginning: true}
		default:
			request.Start = &recollectv1.WatchAllRequest_LiveOnly{LiveOnly: true}
		}
		return framesOf(c.Subscriptions.WatchAll(ctx, request))
	})
}

func (s *Session) openWatch(ctx context.Context, w *watching, from start) (frames, error) {
	request := &recollectv1.WatchSessionRequest{Session: s.ref, Filter: w.filter}
	switch {
	case from.token != nil:
		request.Start = &recollectv1.WatchSessionRequest_ResumeToken{ResumeToken: *from.token}
	case from.afterSeq != nil:
		request.Start = &recollectv1.WatchSessionRequest_AfterSeq{AfterSeq: *from.afterSeq}
	case from.beginning:
		request.Start = &recollectv1.WatchSessionRequest_AfterSeq{}
	default:
		request.Start = &recollectv1.WatchSessionRequest_LiveOnly{LiveOnly: true}
	}
	return framesOf(s.client.Subscriptions.WatchSession(ctx, request))
}

type frame[F any] interface {
	*F
	GetChanges() []*Change
}

func framesOf[F any, P frame[F]](stream grpc.ServerStreamingClient[F], err error) (frames, error) {
	if err != nil {
		return nil, err
	}
	return func() ([]*Change, error) {
		message, err := stream.Recv()
		return P(message).GetChanges(), err
	}, nil
}

func failed(err error) iter.Seq2[*Change, error] {
	return func(yield func(*Change, error) bool) { yield(nil, err) }
}

// follow opens stream after stream, each where the one before it stood.
func (c *Client) follow(ctx context.Context, w watching, open opener) iter.Seq2[*Change, error] {
	if w.starts > 1 {
		return failed(errors.New("recollect: give at most one of ResumeAfter, AfterSeq and FromBeginning"))
	}
	if w.badRetries {
		return failed(errors.New("recollect: MaxRetries must be at least 0"))
	}
	return func(yield func(*Change, error) bool) {
		at, from, again := newCursor(), w.from, newBackoff(w.maxRetries)
		for {
			err := c.drain(ctx, at, again, func(ctx context.Context) (frames, error) { return open(ctx, &w, from) },
				func(change *Change) bool {
					return (change.GetCheckpoint() != nil && !w.checkpoints) || yield(change, nil)
				})
			if err == nil {
				return // the loop was left
			}
			wait, mendable := again.pause(err)
			if mendable {
				err = c.pause(ctx, wait)
			}
			if err != nil {
				yield(nil, err)
				return
			}
			at.drop()
			if at.token != "" {
				from = start{token: &at.token}
			}
		}
	}
}

// drain hands out the changes of one stream; its end is an error too, nil that hand wanted no more. However it returns, the call is
// over.
func (c *Client) drain(
	ctx context.Context, at *cursor, again *backoff, open func(context.Context) (frames, error), hand func(*Change) bool,
) error {
	callCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// What hand takes is not the server's silence, so the clock runs while a frame is awaited only.
	clock := time.AfterFunc(c.silence, func() { cancel(errSilence) })
	defer clock.Stop()
	next, err := open(callCtx)
	for {
		var changes []*Change
		if err == nil {
			changes, err = next()
		}
		if err != nil {
			return c.endOf(callCtx, err)
		}
		clock.Stop()
		again.reset()
		for _, part := range changes {
			change := at.take(part)
			if change == nil {
				continue
			}
			if ctx.Err() != nil {
				return c.typed(ctx.Err())
			}
			if !hand(change) {
				return nil
			}
		}
		clock.Reset(c.silence)
	}
}

// endOf is why a stream ended.
func (c *Client) endOf(ctx context.Context, err error) error {
	switch {
	case errors.Is(context.Cause(ctx), errSilence):
		message := fmt.Sprintf("%s from %s for %s", errSilence, c.address, c.silence)
		return &Error{Code: codes.Unavailable, Message: message}
	case err == io.EOF:
		return &Error{Code: codes.Unavailable, Message: "the server ended the stream"}
	}
	return err
}
