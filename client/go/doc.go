// Package threadkeep is a client for Threadkeep, session memory for AI agents.
//
//	client, err := threadkeep.New(threadkeep.Config{App: "shop", UserID: "alice"})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	trip := client.Session("s1")
//	said := threadkeep.Events(threadkeep.User("Is BA117 on time?"))
//	_, err = trip.Append(ctx, said, threadkeep.WithCreateIfMissing())
//
// A [Client] is safe for concurrent use and holds one connection, which the first call opens and which is reopened when lost. A
// [SessionHandle] creates, appends to, reads, compacts and watches one session; a [ConsumerHandle] works on the changes of many;
// a [UserMemory] is the long-term memory of a user; a [PolicyHandle] says when the server compacts. Client.Raw has every RPC as
// it is. Messages are those of package threadkeepv1 (threadkeep/v1). What is given to a method is never modified.
//
// Calls cover the user and app of the client; see [AnyUser] and [AnyApp].
//
// A call ends after 30 seconds, retries included, unless its context has a deadline, which then applies instead. Streams have
// no deadline. Calls that are safe to repeat are retried while the server is unavailable; see [New].
//
// Every failed call returns an [*Error], which errors.Is compares with a [Reason]:
//
//	if errors.Is(err, threadkeep.ErrSessionNotFound) { ... }
package threadkeep

import pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"

// Version is the version of this module.
const Version = "0.2.0"

// Aliases of the messages that programs use most.
type (
	// Event is one entry of a session's log.
	Event = pb.SessionEvent
	// Part is one piece of the content of an event.
	Part = pb.Part
	// SessionRef identifies a session: an app, a user and an id.
	SessionRef = pb.SessionRef
	// MemoryEntry is one remembered fact or passage.
	MemoryEntry = pb.MemoryEntry
	// Session is the metadata of a conversation; SessionHandle is the handle.
	Session = pb.Session
	// Change is one item of a subscription.
	Change = pb.Change
)
