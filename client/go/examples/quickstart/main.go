// Quickstart appends to a session, reads it and searches it. THREADKEEP_ADDRESS specifies the server; default: the local one.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	memory, err := threadkeep.New(threadkeep.Options{App: "shop", UserID: "alice"})
	if err != nil {
		return err
	}
	defer memory.Close()

	// A new session, so that every run prints the same.
	trip := memory.Session("quickstart-" + threadkeep.NewEventID())
	events := []*threadkeep.Event{threadkeep.User("Is flight BA117 on time?"), threadkeep.Assistant("Yes, it leaves at 10:05.")}
	appended, err := trip.Append(ctx, events, threadkeep.Create())
	if err != nil {
		return err
	}
	fmt.Printf("appended %d events, the last one at %d\n", len(appended.GetEvents()), appended.GetLastSeq())

	for event, err := range trip.Events(ctx, nil) {
		if err != nil {
			return err
		}
		fmt.Println(event.GetSeq(), threadkeep.TextOf(event))
	}
	query := &threadkeepv1.SearchEventsRequest{Query: "ba117", Scope: &threadkeepv1.SearchEventsRequest_Session{Session: trip.Ref()}}
	for hit, err := range memory.Search(ctx, query) {
		if err != nil {
			return err
		}
		fmt.Println("found at", hit.GetEvent().GetSeq())
	}
	return nil
}
