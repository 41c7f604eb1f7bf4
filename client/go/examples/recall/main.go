// Recall searches a session by a question, and remembers across sessions. THREADKEEP_ADDRESS specifies the server; default: the
// local one.
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
	// A new user, so that every run prints the same.
	client, err := threadkeep.New(threadkeep.Options{App: "recall", UserID: "alice-" + threadkeep.NewEventID()})
	if err != nil {
		return err
	}
	defer client.Close()

	said := []*threadkeep.Event{
		threadkeep.User("My daughter is allergic to peanuts."), threadkeep.Assistant("Noted."),
		threadkeep.User("Which flights go to Lisbon in May?"),
	}
	if _, err := client.Session("trip").Append(ctx, said, threadkeep.Create()); err != nil {
		return err
	}
	question := &threadkeepv1.SearchEventsRequest{Query: "Are there any flights to Lisbon?"}
	for hit, err := range client.Search(ctx, question) {
		if err != nil {
			return err
		}
		fmt.Println("found:", threadkeep.TextOf(hit.GetEvent()))
		break // hits come best first; take as many as you need
	}
	return remember(ctx, client)
}

func remember(ctx context.Context, client *threadkeep.Client) error {
	memory := client.Memory()
	ingested, err := memory.AddSession(ctx, "trip", nil) // safe to repeat: each event is remembered once
	if err != nil {
		return err
	}
	fmt.Println("remembered:", ingested.GetAdded(), "events")
	if _, err := memory.Add(ctx, threadkeep.Remember("Prefers a window seat.")); err != nil {
		return err
	}
	question := &threadkeepv1.SearchMemoryRequest{Query: "What must my daughter not eat, peanuts?", TopK: 1}
	found, err := memory.Search(ctx, question)
	if err != nil {
		return err
	}
	for _, entry := range found.GetEntries() {
		fmt.Println("recalled:", threadkeep.TextOfMemory(entry))
	}
	everything := &threadkeepv1.DeleteMemoriesRequest{Selection: &threadkeepv1.DeleteMemoriesRequest_All{All: true}}
	forgotten, err := memory.Delete(ctx, everything)
	if err != nil {
		return err
	}
	fmt.Println("forgotten:", forgotten.GetDeleted(), "memories")
	return nil
}
