// Package recollect is a client of Recollect, one session memory for every agent.
//
//	memory, err := recollect.New(recollect.Options{App: "shop", UserID: "alice"})
//	if err != nil {
//		return err
//	}
//	defer memory.Close()
//	trip := memory.Session("s1")
//	_, err = trip.Append(ctx, []*recollect.Event{recollect.User("Is BA117 on time?")}, recollect.Create())
//
// A [Client] is safe for concurrent use and holds one connection, which is made by the first call and again whenever it is
// lost. A [Session] is a handle on one session: it appends, reads, compacts and follows; a [Memory] on what is remembered of a
// user across sessions. Every other call is one of the generated clients, which are fields of the Client: memory.Sessions,
// memory.Tools and so on. Messages are those of package
// recollectv1 (recollect/v1); a nil request is an empty one, and requests that are given are not changed.
//
// A call ends after 30 seconds, its repetitions included, unless its context bears a deadline, which then holds alone.
// Streams have no limit of their own. Calls that are safe to repeat are repeated while the server is unavailable, see [New].
//
// Every call that fails returns an [*Error], which errors.Is compares with a [Reason]:
//
//	if errors.Is(err, recollect.SessionNotFound) { ... }
package recollect

import "github.com/recollect-dev/recollect-go/recollect/v1"

// Version is the version of this module.
const Version = "0.1.0"

// The messages that programs name most often, under names of this package.
type (
	// Event is one entry of a session's log.
	Event = recollectv1.SessionEvent
	// Part is one piece of an event's content.
	Part = recollectv1.Part
	// SessionRef names a session: an app, a user and an id.
	SessionRef = recollectv1.SessionRef
	// MemoryEntry is one thing that is remembered.
	MemoryEntry = recollectv1.MemoryEntry
	// Change is what a subscription hands out.
	Change = recollectv1.Change
)
