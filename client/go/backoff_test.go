package threadkeep

import (
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

// longestOf returns the longest and the shortest of many pauses after this failure.
func longestOf(t *testing.T, failures int, err error) (longest, shortest time.Duration) {
	t.Helper()
	shortest = time.Hour
	for range 500 {
		s := &backoff{failures: failures, maxRetries: -1}
		wait, ok := s.pauseAfter(err)
		if !ok || s.failures != failures+1 {
			t.Fatal(wait, ok, s.failures)
		}
		longest, shortest = max(longest, wait), min(shortest, wait)
	}
	return longest, shortest
}

func TestPausesDoubleUpToTheMaximumWithJitter(t *testing.T) {
	for failures, milliseconds := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000, 5000, 5000, 5000} {
		bound := milliseconds * time.Millisecond
		longest, shortest := longestOf(t, failures, &Error{Code: codes.Unavailable})
		if longest > bound || longest < bound*9/10 || shortest < 0 || shortest > bound/10 {
			t.Error(failures, longest, shortest)
		}
	}
	if longest, _ := longestOf(t, 1_000_000, &Error{Code: codes.Unavailable}); longest > longestPause {
		t.Error(longest)
	}
}

func TestPauseHasAtLeastTheRetryDelay(t *testing.T) {
	after := 7 * time.Second
	for _, code := range []codes.Code{codes.Unavailable, codes.ResourceExhausted} {
		if longest, shortest := longestOf(t, 0, &Error{Code: code, RetryAfter: after}); shortest < after || longest > after+firstPause {
			t.Error(code, longest, shortest)
		}
	}
}

func TestOtherErrorsAndTooManyFailuresEndTheWatch(t *testing.T) {
	for _, err := range []error{&Error{Code: codes.OutOfRange, Reason: ErrResumePositionExpired}, ErrClosed, io.EOF, errors.New("other")} {
		if _, ok := (&backoff{maxRetries: -1}).pauseAfter(err); ok {
			t.Error(err)
		}
	}
	s, gone := &backoff{maxRetries: 1}, &Error{Code: codes.Unavailable}
	if _, ok := s.pauseAfter(gone); !ok {
		t.Error("the first")
	}
	if _, ok := s.pauseAfter(gone); ok {
		t.Error("the second")
	}
	if _, ok := (&backoff{}).pauseAfter(gone); ok {
		t.Error("none at all")
	}
}
