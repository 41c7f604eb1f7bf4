// Package eino keeps what programs of CloudWeGo's Eino store in Threadkeep: CheckPointStore is a compose.CheckPointStore, for graphs
// and for agents of the package adk, and History is the messages of a conversation, for which Eino has no interface.
//
//	client, err := threadkeep.New(threadkeep.Config{App: "shop", UserID: "alice"})
//	...
//	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, CheckPointStore: eino.NewCheckPointStore(client)})
//	history := eino.NewHistory(client, "trip")
//
// A message is an event of the session: as Eino has it, and as typed parts, which agents of all other frameworks and languages
// read. What they wrote is read as messages of Eino.
package eino
