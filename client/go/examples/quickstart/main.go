// Quickstart appends to a session, reads it back and searches it. The server is that of RECOLLECT_ADDRESS, by default the local one.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/recollect-dev/recollect-go"
	"github.com/recollect-dev/recollect-go/recollect/v1"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	memory, err := recollect.New(recollect.Options{App: "shop", UserID: "alice"})
	if err != nil {
		return err
	}
	defer memory.Close()

	// A session of its own, so that it prints the same every time.
	trip := memory.Session("quickstart-" + recollect.NewEventID())
	events := []*recollect.Event{recollect.User("Is flight BA117 on time?"), recollect.Assistant("Yes, it leaves at 10:05.")}
	appended, err := trip.Append(ctx, events, recollect.Create())
	if err != nil {
		return err
	}
	fmt.Printf("appended %d events, the last one at %d\n", len(appended.GetEvents()), appended.GetLastSeq())

	for event, err := range trip.Events(ctx, nil) {
		if err != nil {
			return err
		}
		fmt.Println(event.GetSeq(), recollect.TextOf(event))
	}
	query := &recollectv1.SearchEventsRequest{Query: "ba117", Scope: &recollectv1.SearchEventsRequest_Session{Session: trip.Ref()}}
	for hit, err := range memory.Search(ctx, query) {
		if err != nil {
			return err
		}
		fmt.Println("found at", hit.GetEvent().GetSeq())
	}
	return nil
}
