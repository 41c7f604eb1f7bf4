// Load calls a server with many appends in flight on one connection, and prints one JSON object.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

const (
	appendEvents = "/threadkeep.v1.EventService/AppendEvents"
	deadline     = 30 * time.Second
)

var (
	address  = flag.String("address", "127.0.0.1:7543", "host and port of the server")
	method   = flag.String("method", appendEvents, "RPC that takes an AppendEventsRequest")
	token    = flag.String("token", "", "bearer token")
	app      = flag.String("app", "bench", "app of the sessions")
	user     = flag.String("user", "go", "user of the sessions")
	inFlight = flag.Int("in-flight", 64, "calls in flight, each in a session of its own")
	warmUp   = flag.Duration("warm-up", time.Second, "time before the measurement")
	measured = flag.Duration("for", 3*time.Second, "time of the measurement")
)

var text = strings.Repeat("x", 1000)

func main() {
	flag.Parse()
	report, err := run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		log.Fatal(err)
	}
}

// asSent is the codec of messages that are encoded already: the echo and the server cost the client the same.
type asSent struct{}

func (asSent) Name() string                        { return "proto" }
func (asSent) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }
func (asSent) Unmarshal(data []byte, to any) error { *to.(*[]byte) = slices.Clone(data); return nil }

func run(ctx context.Context) (map[string]any, error) {
	conn, err := grpc.NewClient(*address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if *token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+*token)
	}
	begin := time.Now().Add(*warmUp)
	end := begin.Add(*measured)
	took, errs := make([][]time.Duration, *inFlight), make([]error, *inFlight)
	var callers sync.WaitGroup
	for i := range *inFlight {
		callers.Add(1)
		go func() {
			defer callers.Done()
			took[i], errs[i] = caller(ctx, conn, fmt.Sprintf("load-%d", i), begin, end)
		}()
	}
	callers.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i]
	}
	all := slices.Concat(took...)
	if len(all) == 0 {
		return nil, fmt.Errorf("no call ended within %s", *measured)
	}
	slices.Sort(all)
	at := func(part float64) float64 { return all[int(part*float64(len(all)))].Seconds() }
	return map[string]any{
		"count": len(all), "rate": float64(len(all)) / measured.Seconds(), "p50": at(0.5), "p99": at(0.99),
	}, nil
}

// caller makes one call after another and returns how long those took that began and ended in time.
func caller(ctx context.Context, conn *grpc.ClientConn, session string, begin, end time.Time) ([]time.Duration, error) {
	var took []time.Duration
	for time.Now().Before(end) {
		event := threadkeep.User(text)
		event.EventId = threadkeep.NewEventID()
		request, err := proto.Marshal(&threadkeepv1.AppendEventsRequest{
			Session:         &threadkeepv1.SessionRef{App: *app, UserId: *user, SessionId: session},
			Events:          []*threadkeep.Event{event},
			CreateIfMissing: &threadkeepv1.CreateIfMissing{},
		})
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if err := call(ctx, conn, request); err != nil {
			return nil, err
		}
		if ended := time.Now(); began.After(begin) && ended.Before(end) {
			took = append(took, ended.Sub(began))
		}
	}
	return took, nil
}

func call(ctx context.Context, conn *grpc.ClientConn, request []byte) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	var response []byte
	return conn.Invoke(ctx, *method, &request, &response, grpc.ForceCodec(asSent{}))
}
