package recollect

import (
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	var bounds []time.Duration
	b := newBackoff(-1)
	b.random = func(n int64) int64 { bounds = append(bounds, time.Duration(n-1)); return n - 1 }
	gone := &Error{Code: codes.Unavailable}
	for range 100 {
		if wait, ok := b.pause(gone); !ok || wait != bounds[len(bounds)-1] {
			t.Fatal(wait, ok)
		}
	}
	for i, want := range []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000} {
		if bounds[i] != want*time.Millisecond {
			t.Errorf("pause %d is %s", i, bounds[i])
		}
	}
	if bounds[99] != longestPause {
		t.Error(bounds[99])
	}
	b.reset()
	if wait, _ := b.pause(gone); wait != firstPause {
		t.Error(wait)
	}
}

func TestPausesAreSpreadAndBounded(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 50 {
		wait, ok := newBackoff(-1).pause(&Error{Code: codes.Unavailable})
		if !ok || wait < 0 || wait > firstPause {
			t.Fatal(wait, ok)
		}
		seen[wait] = true
	}
	if len(seen) < 10 {
		t.Error("no jitter:", seen)
	}
}

func TestTheServersWishIsHeeded(t *testing.T) {
	after := 7 * time.Second
	for _, code := range []codes.Code{codes.Unavailable, codes.ResourceExhausted} {
		if wait, ok := newBackoff(-1).pause(&Error{Code: code, RetryAfter: &after}); !ok || wait < after || wait > after+firstPause {
			t.Error(code, wait, ok)
		}
	}
}

func TestOtherErrorsAndTooManyAreNotBorne(t *testing.T) {
	for _, err := range []error{&Error{Code: codes.OutOfRange, Reason: ResumePositionExpired}, ErrClosed, errors.New("other")} {
		if _, ok := newBackoff(-1).pause(err); ok {
			t.Error(err)
		}
	}
	b, gone := newBackoff(1), &Error{Code: codes.Unavailable}
	if _, ok := b.pause(gone); !ok {
		t.Error("the first")
	}
	if _, ok := b.pause(gone); ok {
		t.Error("the second")
	}
	b.reset()
	if _, ok := b.pause(gone); !ok {
		t.Error("a new row")
	}
	if _, ok := newBackoff(0).pause(gone); ok {
		t.Error("none at all")
	}
}
