package main

import (
	"context"
	"slices"
	"time"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

type samples []time.Duration

func (s samples) summary() map[string]any {
	slices.Sort(s)
	if len(s) == 0 {
		return map[string]any{"median_us": 0, "p99_us": 0, "calls": 0}
	}
	micros := func(part float64) float64 { return float64(s[int(part*float64(len(s)))].Nanoseconds()) / 1000 }
	return map[string]any{"median_us": micros(0.5), "p99_us": micros(0.99), "calls": len(s)}
}

// stream watches a session of many events from its beginning, alternating between the stub and the SDK, and keeps the best of
// each.
func stream(
	ctx context.Context, sdk *threadkeep.Client, stub threadkeepv1.SubscriptionServiceClient,
) (map[string]any, error) {
	session := sdk.Session("stream-" + threadkeep.NewEventID())
	for range streamed / batch {
		events := make([]*threadkeep.Event, batch)
		for i := range events {
			events[i] = threadkeep.User(text)
		}
		if _, err := session.Append(ctx, events, threadkeep.WithCreateIfMissing()); err != nil {
			return nil, err
		}
	}
	ways := [2]func(context.Context) error{
		func(ctx context.Context) error { return followStub(ctx, stub, session.Ref()) },
		func(ctx context.Context) error { return followSDK(ctx, session) },
	}
	var best [2]float64
	for range streamRuns {
		for way, follow := range ways {
			rate, err := timed(ctx, follow)
			if err != nil {
				return nil, err
			}
			best[way] = max(best[way], rate)
		}
	}
	return map[string]any{"stub_per_s": best[0], "sdk_per_s": best[1], "events": streamed}, nil
}

func timed(ctx context.Context, follow func(context.Context) error) (float64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begun := time.Now()
	err := follow(ctx)
	return streamed / time.Since(begun).Seconds(), err
}

func followStub(ctx context.Context, stub threadkeepv1.SubscriptionServiceClient, ref *threadkeep.SessionRef) error {
	start := &threadkeepv1.WatchSessionRequest_AfterSeq{AfterSeq: 0}
	frames, err := stub.WatchSession(ctx, &threadkeepv1.WatchSessionRequest{Session: ref, Start: start})
	if err != nil {
		return err
	}
	for seen := 0; seen < streamed; {
		frame, err := frames.Recv()
		if err != nil {
			return err
		}
		for _, change := range frame.GetChanges() {
			seen += len(change.GetBatch().GetEvents())
		}
	}
	return nil
}

func followSDK(ctx context.Context, session *threadkeep.SessionHandle) error {
	seen := 0
	for change, err := range session.Watch(ctx, threadkeep.From(threadkeep.Beginning)) {
		if err != nil {
			return err
		}
		if seen += len(change.GetBatch().GetEvents()); seen >= streamed {
			break
		}
	}
	return nil
}
