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
	})
}

// Get returns metadata and counters of the session. Errors: ErrSessionNotFound, ErrAmbiguousSession.
func (s *SessionHandle) Get(ctx context.Context) (*Session, error) {
	response, err := s.client.raw.Sessions.GetSession(ctx, &pb.GetSessionRequest{Session: s.ref})
	return response.GetSession(), err
}

// Update changes what the options say and returns the session. Errors: ErrSessionNotFound, ErrVersionMismatch for a stale
// WithETag.
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

// Delete deletes the session and its events. Deleted in the response is false if it did not exist.
func (s *SessionHandle) Delete(ctx context.Context, opts ...DeleteOption) (*pb.DeleteSessionResponse, error) {
	given := settingsOf(opts, DeleteOption.forDelete)
	return s.client.raw.Sessions.DeleteSession(ctx, &pb.DeleteSessionRequest{Session: s.ref, PurgeMemories: given.purge})
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

// WithNewestEvent returns NewestEvents in the page, in the order of the sessions.
func WithNewestEvent() SessionsOption {
	return listOption(func(s *settings) { s.list.WithNewestEvent = true })
}

// Sessions iterates over sessions, newest first, page by page like SessionHandle.Events.
func (c *Client) Sessions(ctx context.Context, opts ...SessionsOption) iter.Seq2[*Session, error] {
	return pages(ctx, c.sessionsRequest(opts), nil, c.raw.Sessions.ListSessions, (*pb.ListSessionsResponse).GetSessions)
}

// SessionsPage returns one page of Sessions with its NextPageToken.
func (c *Client) SessionsPage(ctx context.Context, opts ...SessionsOption) (*pb.ListSessionsResponse, error) {
	return c.raw.Sessions.ListSessions(ctx, c.sessionsRequest(opts))
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
