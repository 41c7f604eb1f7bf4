package threadkeep

import (
	"context"
	"iter"
	"time"

	"google.golang.org/protobuf/types/known/fieldmaskpb"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// Create creates the session. The response has Created, which is false if the session existed and WithReturnExisting is given.
// With an empty id the server generates one: see the response. Errors: ErrSessionAlreadyExists.
func (s *SessionHandle) Create(ctx context.Context, opts ...CreateOption) (*pb.CreateSessionResponse, error) {
	given := settingsOf(opts, CreateOption.forCreate)
	if given.err != nil {
		return nil, given.err
	}
	return s.client.raw.Sessions.CreateSession(ctx, &pb.CreateSessionRequest{
		Session:        s.ref,
		Expiry:         given.expiry,
		MetadataJson:   value(given.metadata),
		Labels:         given.labels,
		ReturnExisting: given.returnExisting,
		UniqueInApp:    given.uniqueInApp,
		ContextBytes:   value(given.contextBytes),
		CreateTime:     given.createTime,
		Parent:         given.parent,
		State:          given.values,
	})
}

// Get returns metadata and counters of the session. Errors: ErrSessionNotFound, ErrAmbiguousSession.
func (s *SessionHandle) Get(ctx context.Context) (*Session, error) {
	response, err := s.client.raw.Sessions.GetSession(ctx, &pb.GetSessionRequest{Session: s.ref})
	return response.GetSession(), err
}

// Update changes what the options say and returns the session. Errors: ErrSessionNotFound, ErrVersionMismatch for a stale
// WithETag, ErrOperationConflict.
func (s *SessionHandle) Update(ctx context.Context, opts ...UpdateOption) (*Session, error) {
	given := settingsOf(opts, UpdateOption.forUpdate)
	if given.err != nil {
		return nil, given.err
	}
	request := &pb.UpdateSessionRequest{
		Session:           s.ref,
		Expiry:            given.expiry,
		MetadataJson:      value(given.metadata),
		Labels:            given.labels,
		ContextBytes:      value(given.contextBytes),
		MetadataPatchJson: value(given.patch),
		SetLabels:         given.setLabels,
		RemoveLabels:      given.removeLabels,
		Etag:              given.etag,
		OperationId:       given.operationID,
	}
	var mask fieldmaskpb.FieldMask
	for _, field := range []struct {
		path  string
		given bool
	}{
		{"expiry", given.expiry != nil},
		{"metadata_json", given.metadata != nil},
		{"labels", given.labels != nil},
		{"context_bytes", given.contextBytes != nil},
	} {
		if field.given {
			mask.Paths = append(mask.Paths, field.path)
		}
	}
	if len(mask.Paths) > 0 {
		request.UpdateMask = &mask
	}
	response, err := s.client.raw.Sessions.UpdateSession(ctx, request)
	return response.GetSession(), err
}

type forkOption func(*settings)

func (o forkOption) forFork(s *settings) { o(s) }

// At forks a session as of a point: At(Seq(12)). Default: all of the present.
func At(point Point) ForkOption {
	return forkOption(func(s *settings) { s.point = point })
}

// WithoutParentLabels gives a fork none of the labels of its parent.
func WithoutParentLabels() ForkOption {
	return forkOption(func(s *settings) { s.withoutParentLabels = true })
}

// Fork creates a session that is a copy of this one, of the same user: as it is or, with At, as of a point. With an empty id the
// server generates one: see the response.
//
//	forked, err := trip.Fork(ctx, "trip-again", threadkeep.At(threadkeep.Seq(12)))
//
// The copy has the events up to the point, archived ones included, with their ids, seqs and times, and the window, the compactions
// and the session's state of then. Its Parent names this session. Writers continue while it is copied. It expires like a new
// session; WithLabels, WithoutParentLabels, WithMetadata and WithContextBytes change what it inherits. A repeated call with the
// same WithOperationID returns the fork of the first one. Errors: ErrSessionNotFound, ErrEventNotFound, ErrSessionAlreadyExists,
// ErrHistoryUnknown, ErrOperationConflict, ErrQuotaExceeded.
func (s *SessionHandle) Fork(ctx context.Context, newSessionID string, opts ...ForkOption) (*pb.ForkSessionResponse, error) {
	given := settingsOf(opts, ForkOption.forFork)
	request := &pb.ForkSessionRequest{
		Session: s.ref, NewSessionId: newSessionID, Expiry: given.expiry, MetadataJson: given.metadata, Labels: given.labels,
		WithoutParentLabels: given.withoutParentLabels, ContextBytes: given.contextBytes, OperationId: given.operation(),
	}
	setPoint(request, given.point)
	if given.err != nil {
		return nil, given.err
	}
	return s.client.raw.Sessions.ForkSession(ctx, request)
}

// Move gives the session to another user of its app, with its events, state, labels and policy. It requires a credential with the
// role admin that is not bound to a user. This handle does not find the session any more: its Ref in the response names it. Memories
// that came from it stay with the former owner. A repeated call with the same WithOperationID changes nothing. Errors:
// ErrSessionNotFound, ErrSessionAlreadyExists, ErrOperationConflict, ErrPermissionDenied.
func (s *SessionHandle) Move(ctx context.Context, newUserID string, opts ...MoveOption) (*pb.MoveSessionResponse, error) {
	given := settingsOf(opts, MoveOption.forMove)
	request := &pb.MoveSessionRequest{Session: s.ref, NewUserId: newUserID, OperationId: given.operation()}
	return s.client.raw.Sessions.MoveSession(ctx, request)
}

// Delete deletes the session and its events. Deleted in the response is false if it did not exist. Errors: ErrVersionMismatch with
// WithUID.
func (s *SessionHandle) Delete(ctx context.Context, opts ...DeleteOption) (*pb.DeleteSessionResponse, error) {
	given := settingsOf(opts, DeleteOption.forDelete)
	return s.client.raw.Sessions.DeleteSession(ctx, &pb.DeleteSessionRequest{Session: s.ref, PurgeMemories: given.purge, Uid: given.uid})
}

type (
	// LoadOption configures SessionHandle.Load.
	LoadOption interface{ forLoad(*settings) }
	// UsageOption configures SessionHandle.Usage and its pages.
	UsageOption interface{ forUsage(*settings) }
)

type (
	loadOption  func(*settings)
	usageOption func(*settings)
)

func (o loadOption) forLoad(s *settings)    { o(s) }
func (o filterOption) forLoad(s *settings)  { o(s) }
func (o newestOption) forLoad(s *settings)  { o(s) }
func (o pageOption) forLoad(s *settings)    { o(s) }
func (o usageOption) forUsage(s *settings)  { o(s) }
func (o branchOption) forUsage(s *settings) { o(s) }
func (o pageOption) forUsage(s *settings)   { o(s) }

// LoadContext loads the context that GetContext returns for the provider, in place of a page of events.
func LoadContext(memory MemoryProvider) LoadOption {
	return loadOption(func(s *settings) {
		if s.load.Spec = memory.spec; s.load.Spec == nil {
			s.load.Spec = &pb.ContextSpec{}
		}
	})
}

// WithoutEvents loads neither events nor a context.
func WithoutEvents() LoadOption {
	return loadOption(func(s *settings) { s.load.ExcludeEvents = true })
}

// WithStateScopes loads the state of these scopes only. Default: all that the token has access to.
func WithStateScopes(scopes ...pb.StateScope) LoadOption {
	return loadOption(func(s *settings) { s.load.StateScopes = scopes })
}

// Load returns the session, its state, and a page of its events or a context, all as of one moment. It takes WithFilter,
// NewestFirst and WithPageSize, or LoadContext or WithoutEvents; WithStateScopes and WithNewestEvent. EventsPage continues with the
// token of the page. Errors: ErrSessionNotFound, ErrAmbiguousSession.
func (s *SessionHandle) Load(ctx context.Context, opts ...LoadOption) (*pb.LoadSessionResponse, error) {
	given := settingsOf(opts, LoadOption.forLoad)
	if given.err != nil {
		return nil, given.err
	}
	request := &given.load
	request.Session, request.Filter, request.Order = s.ref, given.filter, given.order
	request.PageSize, request.WithNewestEvent = given.pageSize, given.list.WithNewestEvent
	return s.client.raw.Events.LoadSession(ctx, request)
}

func (s *SessionHandle) branchesRequest(opts []PageOption) *pb.ListBranchesRequest {
	given := settingsOf(opts, PageOption.forPage)
	return &pb.ListBranchesRequest{Session: s.ref, PageSize: given.pageSize, PageToken: given.pageToken}
}

// Branches iterates over the branches that have events, with their counts: the root first. Page by page like Events. Errors:
// ErrSessionNotFound.
func (s *SessionHandle) Branches(ctx context.Context, opts ...PageOption) iter.Seq2[*pb.Branch, error] {
	return pages(ctx, s.branchesRequest(opts), nil, s.client.raw.Events.ListBranches, (*pb.ListBranchesResponse).GetBranches)
}

// BranchesPage returns one page of Branches, of at most 100.
func (s *SessionHandle) BranchesPage(ctx context.Context, opts ...PageOption) (*pb.ListBranchesResponse, error) {
	return s.client.raw.Events.ListBranches(ctx, s.branchesRequest(opts))
}

// BetweenSeqs lists the usage of events whose seqs exceed and precede these; 0 is no bound.
func BetweenSeqs(after, before int64) UsageOption {
	return usageOption(func(s *settings) {
		if after != 0 {
			s.usage.AfterSeq = &after
		}
		if before != 0 {
			s.usage.BeforeSeq = &before
		}
	})
}

func (s *SessionHandle) usageRequest(opts []UsageOption) *pb.ListUsageRequest {
	given := settingsOf(opts, UsageOption.forUsage)
	request := &given.usage
	request.Session, request.Branch = s.ref, given.exactBranch()
	request.PageSize, request.PageToken = given.pageSize, given.pageToken
	return request
}

// Usage iterates over the token usage by turn, invocation and branch. A turn in two pages has an entry of each. It takes
// WithBranch, BetweenSeqs and WithPageSize. Errors: ErrSessionNotFound.
func (s *SessionHandle) Usage(ctx context.Context, opts ...UsageOption) iter.Seq2[*pb.UsageEntry, error] {
	return pages(ctx, s.usageRequest(opts), nil, s.client.raw.Events.ListUsage, (*pb.ListUsageResponse).GetEntries)
}

// UsagePage returns one page of Usage, which may be empty and not be the last.
func (s *SessionHandle) UsagePage(ctx context.Context, opts ...UsageOption) (*pb.ListUsageResponse, error) {
	return s.client.raw.Events.ListUsage(ctx, s.usageRequest(opts))
}

func (c *Client) sessionsRequest(opts []SessionsOption) *pb.ListSessionsRequest {
	given := settingsOf(opts, SessionsOption.forSessions)
	request := &given.list
	request.App, request.UserId, request.Labels = c.appOf(given), c.userOf(given), given.labels
	request.PageSize, request.PageToken = given.pageSize, given.pageToken
	return request
}

type listOption func(*settings)

func (o listOption) forSessions(s *settings) { o(s) }

// InOrder sets the order of the sessions. Default: by the time of creation, the latest first.
func InOrder(order pb.SessionOrder) SessionsOption {
	return listOption(func(s *settings) { s.list.OrderBy = order })
}

// UpdatedBetween selects sessions whose last update is later and earlier than these times; a zero time is no bound.
func UpdatedBetween(after, before time.Time) SessionsOption {
	return listOption(func(s *settings) { s.list.UpdatedAfter, s.list.UpdatedBefore = timestamp(after), timestamp(before) })
}

// WithIDPrefix selects sessions by the beginning of their ids.
func WithIDPrefix(prefix string) SessionsOption {
	return listOption(func(s *settings) { s.list.SessionIdPrefix = prefix })
}

// WithOffset skips n sessions, at most 10,000.
func WithOffset(n int) SessionsOption {
	return listOption(func(s *settings) { s.list.Offset = int32(n) })
}

// WithTotal returns TotalSize in the page, counted up to 10,001.
func WithTotal() SessionsOption {
	return listOption(func(s *settings) { s.list.WithTotal = true })
}

func (o listOption) forLoad(s *settings) { o(s) }

// WithNewestEvent returns NewestEvents in the page, in the order of the sessions; in Load, the NewestEvent of the session.
func WithNewestEvent() interface {
	SessionsOption
	LoadOption
} {
	return listOption(func(s *settings) { s.list.WithNewestEvent = true })
}

// WithStates returns States in the page, the sessions' own, in the order of the sessions: each whole, or with More and no values if
// it does not fit. Together they have at most a quarter of the server's longest response.
func WithStates() SessionsOption {
	return listOption(func(s *settings) { s.list.WithState = true })
}

// ForkedFrom selects the forks of the session with this id, which may be deleted.
func ForkedFrom(sessionID string) SessionsOption {
	return listOption(func(s *settings) { s.list.ForkedFrom = sessionID })
}

// Sessions iterates over sessions, newest first, page by page like SessionHandle.Events.
func (c *Client) Sessions(ctx context.Context, opts ...SessionsOption) iter.Seq2[*Session, error] {
	return pages(ctx, c.sessionsRequest(opts), nil, c.raw.Sessions.ListSessions, (*pb.ListSessionsResponse).GetSessions)
}

// SessionsPage returns one page of Sessions with its NextPageToken.
func (c *Client) SessionsPage(ctx context.Context, opts ...SessionsOption) (*pb.ListSessionsResponse, error) {
	return c.raw.Sessions.ListSessions(ctx, c.sessionsRequest(opts))
}

func (c *Client) usersRequest(opts []UsersOption) *pb.ListUsersRequest {
	given := settingsOf(opts, UsersOption.forUsers)
	return &pb.ListUsersRequest{App: c.appOf(given), PageSize: given.pageSize, PageToken: given.pageToken}
}

// Users iterates over the users that have sessions, memories or state in the client's app, in that of WithApp or, with AnyApp, in
// all, in a fixed order, page by page like SessionHandle.Events. Errors: ErrPermissionDenied with a token that is bound to a user.
func (c *Client) Users(ctx context.Context, opts ...UsersOption) iter.Seq2[*pb.UserRef, error] {
	return pages(ctx, c.usersRequest(opts), nil, c.raw.Sessions.ListUsers, (*pb.ListUsersResponse).GetUsers)
}

// UsersPage returns one page of Users with its NextPageToken.
func (c *Client) UsersPage(ctx context.Context, opts ...UsersOption) (*pb.ListUsersResponse, error) {
	return c.raw.Sessions.ListUsers(ctx, c.usersRequest(opts))
}

// DeleteExpiredSessions deletes expired sessions, at most 1,000; the response reports whether more remain. The server also
// deletes them automatically.
func (c *Client) DeleteExpiredSessions(ctx context.Context, opts ...ExpiredOption) (*pb.DeleteExpiredSessionsResponse, error) {
	given := settingsOf(opts, ExpiredOption.forExpired)
	return c.raw.Sessions.DeleteExpiredSessions(ctx, &pb.DeleteExpiredSessionsRequest{
		App: c.appOf(given), UserId: c.userOf(given), Before: given.before,
	})
}

// DeleteUser deletes everything of a user: sessions, memories, policies and, with AnyApp, consumers. It covers the client's
// app, unless WithApp or AnyApp is given. It repeats its call, of about 10 seconds, until nothing is left; the client's timeout
// is that of one.
func (c *Client) DeleteUser(ctx context.Context, userID string, opts ...EraseOption) (*pb.ErasureReceipt, error) {
	given := settingsOf(opts, EraseOption.forErase)
	request := &pb.DeleteUserRequest{UserId: userID, App: c.appOf(given), RequestId: given.requestID}
	return erased(given, func() (erasure, error) { return c.raw.Sessions.DeleteUser(ctx, request) })
}

// DeleteApp deletes everything of an app: the sessions and memories of all users, and policies. "" is what has no app. Like
// DeleteUser, it repeats its call.
func (c *Client) DeleteApp(ctx context.Context, app string, opts ...EraseOption) (*pb.ErasureReceipt, error) {
	given := settingsOf(opts, EraseOption.forErase)
	request := &pb.DeleteAppRequest{App: &app, RequestId: given.requestID}
	return erased(given, func() (erasure, error) { return c.raw.Sessions.DeleteApp(ctx, request) })
}

// DeleteByLabel deletes the sessions that have all of these labels and, with PurgeMemories, the memories that came from them.
// Like DeleteUser, it repeats its call.
func (c *Client) DeleteByLabel(ctx context.Context, labels map[string]string, opts ...EraseOption) (*pb.ErasureReceipt, error) {
	given := settingsOf(opts, EraseOption.forErase)
	request := &pb.DeleteByLabelRequest{
		Labels: labels, App: c.appOf(given), UserId: c.userOf(given), PurgeMemories: given.purge, RequestId: given.requestID,
	}
	return erased(given, func() (erasure, error) { return c.raw.Sessions.DeleteByLabel(ctx, request) })
}

type erasure interface {
	GetReceipt() *pb.ErasureReceipt
	GetMore() bool
}

// erased repeats an erasure until nothing is left.
func erased(given *settings, erase func() (erasure, error)) (*pb.ErasureReceipt, error) {
	for {
		response, err := erase()
		if err != nil {
			return nil, err
		}
		if given.progress != nil {
			given.progress(response.GetReceipt())
		}
		if !response.GetMore() {
			return response.GetReceipt(), nil
		}
	}
}

// value returns what p points to; the zero value for nil.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
