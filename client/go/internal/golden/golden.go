// Package golden has what the programs share that write and read the golden conversation through the adapters of frameworks: see
// tests/integrations/golden.py.
package golden

import (
	"context"
	"encoding/json"
	"log"
	"os"

	"github.com/threadkeep/threadkeep-go"
)

// Pixel is the PNG of the conversation, in base64.
const Pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// Atom is a part of a message that no framework prescribes.
type Atom map[string]any

// Call returns the atom of a tool call, whose arguments are a JSON object.
func Call(role, id, name, arguments string) (Atom, error) {
	var object map[string]any
	if err := json.Unmarshal([]byte(arguments), &object); err != nil {
		return nil, err
	}
	return Atom{"role": role, "kind": "call", "id": id, "name": name, "arguments": object}, nil
}

// Main runs the program of an adapter:
//
//	golden ADDRESS write SESSION
//	golden ADDRESS read SESSION...     prints a JSON object: atoms by session
func Main(
	write func(ctx context.Context, client *threadkeep.Client, session string) error,
	read func(ctx context.Context, client *threadkeep.Client, session string) ([]Atom, error),
) {
	if len(os.Args) < 4 {
		log.Fatal("usage: golden ADDRESS write|read SESSION...")
	}
	client, err := threadkeep.New(threadkeep.Config{Address: os.Args[1], App: "golden", UserID: "ada"})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx, sessions := context.Background(), os.Args[3:]
	if os.Args[2] == "write" {
		if err := write(ctx, client, sessions[0]); err != nil {
			log.Fatal(err)
		}
		return
	}
	found := map[string][]Atom{}
	for _, session := range sessions {
		if found[session], err = read(ctx, client, session); err != nil {
			log.Fatal(err)
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(found); err != nil {
		log.Fatal(err)
	}
}
