// Recall searches a session by a question, and remembers across sessions. THREADKEEP_ADDRESS specifies the server; default: the
// local one.
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
	// A new user, so that every run prints the same.
	client, err := threadkeep.New(threadkeep.Config{App: "recall", UserID: "alice-" + threadkeep.NewEventID()})
	if err != nil {
		return err
	}
	defer client.Close()

	said := threadkeep.Events(
		threadkeep.User("My daughter is allergic to peanuts."), threadkeep.Assistant("Noted."),
		threadkeep.User("Which flights go to Lisbon in May?"),
	)
	if _, err := client.Session("trip").Append(ctx, said, threadkeep.WithCreateIfMissing()); err != nil {
		return err
	}
	for hit, err := range client.Search(ctx, "Are there any flights to Lisbon?") {
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
	ingested, err := memory.AddSession(ctx, "trip") // safe to repeat: each event is remembered once
	if err != nil {
		return err
	}
	fmt.Println("remembered:", ingested.GetAdded(), "events")
	if _, err := memory.Add(ctx, threadkeep.Remember("Prefers a window seat.")); err != nil {
		return err
	}
	found, err := memory.Search(ctx, "What must my daughter not eat, peanuts?", threadkeep.WithTopK(1))
	if err != nil {
		return err
	}
	for _, entry := range found.GetEntries() {
		fmt.Println("recalled:", threadkeep.TextOfMemory(entry))
	}
	forgotten, err := memory.DeleteAll(ctx)
	if err != nil {
		return err
	}
	fmt.Println("forgotten:", forgotten.GetDeleted(), "memories")
	return nil
}
