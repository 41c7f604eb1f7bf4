// Bench measures the cost of the SDK over the generated stubs: bench ADDRESS SECONDS prints one JSON object.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

const (
	warmUp      = 300
	block       = 25
	streamed    = 20_000
	batch       = 10
	streamRuns  = 3
	maxReceived = 64 << 20
)

var text = strings.Repeat("x", 1024)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: bench ADDRESS SECONDS")
	}
	seconds, err := strconv.ParseFloat(os.Args[2], 64)
	if err != nil {
		log.Fatal(err)
	}
	report, err := run(context.Background(), os.Args[1], time.Duration(seconds*float64(time.Second)))
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, address string, duration time.Duration) (map[string]any, error) {
	sdk, err := threadkeep.New(threadkeep.Config{Address: address, App: "bench", UserID: "go"})
	if err != nil {
		return nil, err
	}
	defer sdk.Close()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReceived)))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	calls, err := unary(ctx, sdk, threadkeepv1.NewEventServiceClient(conn), duration)
	if err != nil {
		return nil, fmt.Errorf("unary: %w", err)
	}
	rates, err := stream(ctx, sdk, threadkeepv1.NewSubscriptionServiceClient(conn))
	if err != nil {
		return nil, fmt.Errorf("stream: %w", err)
	}
	return map[string]any{"language": "go", "unary": calls, "stream": rates}, nil
}

// unary appends events of 1 KiB one by one, alternating blocks through the stub and the SDK.
func unary(
	ctx context.Context, sdk *threadkeep.Client, stub threadkeepv1.EventServiceClient, duration time.Duration,
) (map[string]any, error) {
	bare, written := sdk.Session("stub-"+threadkeep.NewEventID()), sdk.Session("sdk-"+threadkeep.NewEventID())
	for _, session := range []*threadkeep.SessionHandle{bare, written} {
		if _, err := session.Append(ctx, []*threadkeep.Event{threadkeep.User("warm up")}, threadkeep.WithCreateIfMissing()); err != nil {
			return nil, err
		}
	}
	ref, id := bare.Ref(), ""
	ways := [2]func() error{
		func() error {
			event := threadkeep.User(text)
			event.EventId = id
			_, err := stub.AppendEvents(ctx, &threadkeepv1.AppendEventsRequest{Session: ref, Events: []*threadkeep.Event{event}})
			return err
		},
		func() error {
			_, err := written.Append(ctx, []*threadkeep.Event{threadkeep.User(text)})
			return err
		},
	}
	var took [2]samples
	measure := func(calls int, keep bool) error {
		for way, call := range ways {
			for range calls {
				id = threadkeep.NewEventID()
				begun := time.Now()
				if err := call(); err != nil {
					return err
				}
				if keep {
					took[way] = append(took[way], time.Since(begun))
				}
			}
		}
		return nil
	}
	if err := measure(warmUp, false); err != nil {
		return nil, err
	}
	for end := time.Now().Add(duration); time.Now().Before(end); {
		if err := measure(block, true); err != nil {
			return nil, err
		}
	}
	return map[string]any{"stub": took[0].summary(), "sdk": took[1].summary()}, nil
}
