// Recall finds what answers a question, and remembers across sessions. The server is that of THREADKEEP_ADDRESS, by default the local
// one.
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
	// A user of its own, so that it prints the same every time.
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
		break // best first: take as many as are of use
	}
	return remember(ctx, client)
}

func remember(ctx context.Context, client *threadkeep.Client) error {
	memory := client.Memory()
	ingested, err := memory.AddSession(ctx, "trip", nil) // as often as you like: nothing is remembered twice
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
