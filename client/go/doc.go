// Package threadkeep is a client of Threadkeep, one session memory for every agent.
//
//	memory, err := threadkeep.New(threadkeep.Options{App: "shop", UserID: "alice"})
//	if err != nil {
//		return err
//	}
//	defer memory.Close()
//	trip := memory.Session("s1")
//	_, err = trip.Append(ctx, []*threadkeep.Event{threadkeep.User("Is BA117 on time?")}, threadkeep.Create())
//
// A [Client] is safe for concurrent use and holds one connection, which is made by the first call and again whenever it is
// lost. A [Session] is a handle on one session: it appends, reads, compacts and follows; a [Memory] on what is remembered of a
// user across sessions. Every other call is one of the generated clients, which are fields of the Client: memory.Sessions,
// memory.Tools and so on. Messages are those of package
// threadkeepv1 (threadkeep/v1); a nil request is an empty one, and requests that are given are not changed.
//
// What a list, a search, a watch or a deletion leaves empty of app and user is the client's; see [AllUsers] and [AllApps].
//
// A call ends after 30 seconds, its repetitions included, unless its context bears a deadline, which then holds alone.
// Streams have no limit of their own. Calls that are safe to repeat are repeated while the server is unavailable, see [New].
//
// Every call that fails returns an [*Error], which errors.Is compares with a [Reason]:
//
//	if errors.Is(err, threadkeep.SessionNotFound) { ... }
package threadkeep

import "github.com/threadkeep/threadkeep-go/threadkeep/v1"

// Version is the version of this module.
const Version = "0.1.0"

// The messages that programs name most often, under names of this package.
type (
	// Event is one entry of a session's log.
	Event = threadkeepv1.SessionEvent
	// Part is one piece of an event's content.
	Part = threadkeepv1.Part
	// SessionRef names a session: an app, a user and an id.
	SessionRef = threadkeepv1.SessionRef
	// MemoryEntry is one thing that is remembered.
	MemoryEntry = threadkeepv1.MemoryEntry
	// Change is what a subscription hands out.
	Change = threadkeepv1.Change
)
