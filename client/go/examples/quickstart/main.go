// Quickstart appends to a session, reads it and searches it. THREADKEEP_ADDRESS specifies the server; default: the local one.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/threadkeep/threadkeep-go"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	client, err := threadkeep.New(threadkeep.Config{App: "shop", UserID: "alice"})
	if err != nil {
		return err
	}
	defer client.Close()

	// A new session, so that every run prints the same.
	trip := client.Session("quickstart-" + threadkeep.NewEventID())
	events := threadkeep.Events(threadkeep.User("Is flight BA117 on time?"), threadkeep.Assistant("Yes, it leaves at 10:05."))
	appended, err := trip.Append(ctx, events, threadkeep.WithCreateIfMissing())
	if err != nil {
		return err
	}
	fmt.Printf("appended %d events, the last one at %d\n", len(appended.GetEvents()), appended.GetLastSeq())

	for event, err := range trip.Events(ctx) {
		if err != nil {
			return err
		}
		fmt.Println(event.GetSeq(), threadkeep.TextOf(event))
	}
	for hit, err := range trip.Search(ctx, "ba117") {
		if err != nil {
			return err
		}
		fmt.Println("found at", hit.GetEvent().GetSeq())
	}
	return nil
}
