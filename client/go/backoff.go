package recollect

import (
	"errors"
	"math/rand/v2"
	"time"

	"google.golang.org/grpc/codes"
)

// The upper bound of the first pause, which doubles with every failure in a row, and where it stays.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 5 * time.Second
)

// backoff says how long a stream that broke waits before it is opened again: with full jitter, so that clients that lost one
// server do not come back all at once.
type backoff struct {
	maxRetries int // failures in a row that are borne; negative is any number
	failures   int
	random     func(n int64) int64 // in [0, n)
}

func newBackoff(maxRetries int) *backoff {
	return &backoff{maxRetries: maxRetries, random: rand.Int64N}
}

// reset says that the stream is alive: the failures before it no longer count.
func (b *backoff) reset() {
	b.failures = 0
}

// pause is how long to wait after this failure, at least what the server asked for. false: no retry can mend it.
func (b *backoff) pause(err error) (time.Duration, bool) {
	var failure *Error
	if !errors.As(err, &failure) || (failure.Code != codes.Unavailable && failure.RetryAfter == nil) {
		return 0, false
	}
	if b.maxRetries >= 0 && b.failures >= b.maxRetries {
		return 0, false
	}
	longest := min(longestPause, firstPause<<min(b.failures, 10))
	b.failures++
	wait := time.Duration(b.random(int64(longest) + 1))
	if failure.RetryAfter != nil {
		wait += *failure.RetryAfter
	}
	return wait, true
}
