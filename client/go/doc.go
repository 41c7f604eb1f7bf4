// Package threadkeep is a client for Threadkeep, session memory for AI agents.
//
//	memory, err := threadkeep.New(threadkeep.Options{App: "shop", UserID: "alice"})
//	if err != nil {
//		return err
//	}
//	defer memory.Close()
//	trip := memory.Session("s1")
//	_, err = trip.Append(ctx, []*threadkeep.Event{threadkeep.User("Is BA117 on time?")}, threadkeep.Create())
//
// A [Client] is safe for concurrent use and holds one connection, which the first call opens and which is reopened when lost. A
// [Session] is a handle on one session: it appends, reads, compacts and watches. A [Memory] is a handle on the long-term memory
// of a user. All other calls are made with the generated clients, which are fields of the Client: memory.Sessions, memory.Tools
// and so on. Messages are those of package threadkeepv1 (threadkeep/v1). A nil request is an empty one, and requests are never
// modified.
//
// App and user that a list, a search, a watch or a deletion leaves empty are the client's; see [AllUsers] and [AllApps].
//
// A call ends after 30 seconds, retries included, unless its context has a deadline, which then applies instead. Streams have
// no deadline. Calls that are safe to repeat are retried while the server is unavailable; see [New].
//
// Every failed call returns an [*Error], which errors.Is compares with a [Reason]:
//
//	if errors.Is(err, threadkeep.SessionNotFound) { ... }
package threadkeep

import "github.com/threadkeep/threadkeep-go/threadkeep/v1"

// Version is the version of this module.
const Version = "0.1.0"

// Aliases of the messages that programs use most.
type (
	// Event is one entry of a session's log.
	Event = threadkeepv1.SessionEvent
	// Part is one piece of the content of an event.
	Part = threadkeepv1.Part
	// SessionRef identifies a session: an app, a user and an id.
	SessionRef = threadkeepv1.SessionRef
	// MemoryEntry is one remembered fact or passage.
	MemoryEntry = threadkeepv1.MemoryEntry
	// Change is one item of a subscription.
	Change = threadkeepv1.Change
)
