// Package langchaingo keeps the conversations of langchaingo in Threadkeep: ChatMessageHistory is a schema.ChatMessageHistory for
// every memory of the package memory, and Memory is a schema.Memory that also stores the tool calls of agents.
//
//	client, err := threadkeep.New(threadkeep.Config{App: "shop", UserID: "alice"})
//	...
//	history := langchaingo.New(client, "trip")
//	executor := agents.NewExecutor(agent, agents.WithMemory(langchaingo.NewMemory(history)), agents.WithReturnIntermediateSteps())
//
// A message is an event of the session: as langchaingo has it, and as typed parts, which agents of all other frameworks and
// languages read. What they wrote is read as messages of langchaingo.
package langchaingo
