package threadkeep

import (
	"encoding/json"
	"errors"
	"maps"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// The options of calls. One option may fit several calls, such as WithFilter for Events, Search, Watch and Run; the compiler
// refuses one that does not fit.
type (
	// CreateOption configures SessionHandle.Create, and the session that an append creates.
	CreateOption interface{ forCreate(*settings) }
	// UpdateOption says what SessionHandle.Update changes.
	UpdateOption interface{ forUpdate(*settings) }
	// ForkOption configures SessionHandle.Fork.
	ForkOption interface{ forFork(*settings) }
	// MoveOption configures SessionHandle.Move.
	MoveOption interface{ forMove(*settings) }
	// DeleteOption configures SessionHandle.Delete.
	DeleteOption interface{ forDelete(*settings) }
	// SessionsOption configures Client.Sessions and its pages.
	SessionsOption interface{ forSessions(*settings) }
	// UsersOption configures Client.Users and its pages.
	UsersOption interface{ forUsers(*settings) }
	// ExpiredOption configures Client.DeleteExpiredSessions.
	ExpiredOption interface{ forExpired(*settings) }
	// EraseOption configures Client.DeleteUser, DeleteApp and DeleteByLabel.
	EraseOption interface{ forErase(*settings) }
	// AppendOption configures appends.
	AppendOption interface{ forAppend(*settings) }
	// EventsOption configures SessionHandle.Events and its pages.
	EventsOption interface{ forEvents(*settings) }
	// SearchOption configures searches of events.
	SearchOption interface{ forSearch(*settings) }
	// MemorySearchOption configures searches of memories.
	MemorySearchOption interface{ forMemorySearch(*settings) }
	// MemoryOption configures UserMemory.List and AddSession.
	MemoryOption interface{ forMemory(*settings) }
	// WatchOption configures SessionHandle.Watch.
	WatchOption interface{ forWatch(*settings) }
	// WatchAllOption configures Client.WatchAll.
	WatchAllOption interface{ forWatchAll(*settings) }
	// ConsumeOption configures ConsumerHandle.Run.
	ConsumeOption interface{ forConsume(*settings) }
	// PageOption selects a page of a list without other conditions.
	PageOption interface{ forPage(*settings) }
	// ScopeOption says whose data a call covers. Default: the client's user and app.
	ScopeOption interface{ forScope(*settings) }
	// CompactOption configures SessionHandle.Compact.
	CompactOption interface{ forCompact(*settings) }
	// PlanOption configures SessionHandle.PlanCompaction and CompactWith.
	PlanOption interface{ forPlan(*settings) }
	// ApplyOption configures SessionHandle.ApplyCompaction, CompactContext and ReplaceEvents.
	ApplyOption interface{ forApply(*settings) }
)

// settings are what the options of a call say.
type settings struct {
	expiry                             *pb.Expiry
	metadata, patch                    *string
	labels, setLabels, values          map[string]string
	removeLabels, removeKeys           []string
	contextBytes                       *int64
	createTime, before                 *timestamppb.Timestamp
	parent                             *pb.SessionParent
	returnExisting, uniqueInApp, purge bool
	hasBranch, refreshTTL              bool
	point                              Point
	withoutParentLabels, always        bool
	invocationIDs                      []string
	list                               pb.ListSessionsRequest
	audit                              pb.ListAuditRecordsRequest
	state                              pb.GetStateRequest
	load                               pb.LoadSessionRequest
	usage                              pb.ListUsageRequest
	namespaces                         pb.ListMemoryNamespacesRequest
	lookup                             pb.MemoryName
	delta                              *pb.StateDelta
	mode                               pb.RemovalMode
	ifMemoryExists                     pb.IfMemoryExists
	asOf                               any
	etag, uid, requestID, operationID  string
	progress                           func(*pb.ErasureReceipt)
	app                                *string
	userID                             string
	anyUser, anyApp                    bool
	pageSize                           int32
	pageToken                          string
	createIfMissing                    *settings
	expect                             any
	ifExists                           pb.IfExists
	maxOutstanding                     int
	filter                             *pb.EventFilter
	order                              pb.SortOrder
	search                             pb.SearchEventsRequest
	topK                               int32
	memoryFilter                       *pb.MemoryFilter
	ingest                             pb.AddSessionToMemoryRequest
	start                              Start
	checkpoints                        bool
	maxRetries                         *int
	concurrency                        int
	join                               pb.JoinConsumer
	strategy                           *pb.CompactionStrategy
	trigger                            *pb.CompactionTrigger
	branch, actor, strategyName        string
	compactionID                       string
	dryRun, reportMismatch             bool
	inserts                            []*pb.CompactionInsert
	err                                error
}

// settingsOf applies the options of a call.
func settingsOf[O any](opts []O, apply func(O, *settings)) *settings {
	s := &settings{}
	for _, option := range opts {
		apply(option, s)
	}
	return s
}

func (s *settings) fail(message string) {
	s.err = errors.Join(s.err, errors.New("threadkeep: "+message))
}

// Kinds of options by the calls that they fit.
type (
	propertyOption func(*settings)
	createOption   func(*settings)
	sizeOption     func(*settings)
	updateOption   func(*settings)
	purgeOption    func(*settings)
	deleteOption   func(*settings)
	expiredOption  func(*settings)
	eraseOption    func(*settings)
	labelsOption   func(*settings)
	metadataOption func(*settings)
	scopeOption    func(*settings)
	pageOption     func(*settings)
	appendOption   func(*settings)
)

func (o propertyOption) forCreate(s *settings) { o(s) }
func (o propertyOption) forUpdate(s *settings) { o(s) }
func (o propertyOption) forFork(s *settings)   { o(s) }
func (o createOption) forCreate(s *settings)   { o(s) }
func (o sizeOption) forCreate(s *settings)     { o(s) }
func (o sizeOption) forUpdate(s *settings)     { o(s) }
func (o sizeOption) forFork(s *settings)       { o(s) }
func (o updateOption) forUpdate(s *settings)   { o(s) }
func (o purgeOption) forDelete(s *settings)    { o(s) }
func (o purgeOption) forErase(s *settings)     { o(s) }
func (o deleteOption) forDelete(s *settings)   { o(s) }
func (o expiredOption) forExpired(s *settings) { o(s) }
func (o eraseOption) forErase(s *settings)     { o(s) }
func (o labelsOption) forCreate(s *settings)   { o(s) }
func (o labelsOption) forUpdate(s *settings)   { o(s) }
func (o labelsOption) forFork(s *settings)     { o(s) }
func (o labelsOption) forSessions(s *settings) { o(s) }
func (o labelsOption) forWatchAll(s *settings) { o(s) }
func (o labelsOption) forConsume(s *settings)  { o(s) }
func (o metadataOption) forCreate(s *settings) { o(s) }
func (o metadataOption) forUpdate(s *settings) { o(s) }
func (o metadataOption) forFork(s *settings)   { o(s) }
func (o metadataOption) forMemory(s *settings) { o(s) }
func (o scopeOption) forScope(s *settings)     { o(s) }
func (o scopeOption) forSessions(s *settings)  { o(s) }
func (o scopeOption) forUsers(s *settings)     { o(s) }
func (o scopeOption) forExpired(s *settings)   { o(s) }
func (o scopeOption) forErase(s *settings)     { o(s) }
func (o scopeOption) forSearch(s *settings)    { o(s) }
func (o scopeOption) forWatchAll(s *settings)  { o(s) }
func (o scopeOption) forConsume(s *settings)   { o(s) }
func (o pageOption) forPage(s *settings)       { o(s) }
func (o pageOption) forSessions(s *settings)   { o(s) }
func (o pageOption) forUsers(s *settings)      { o(s) }
func (o pageOption) forEvents(s *settings)     { o(s) }
func (o pageOption) forSearch(s *settings)     { o(s) }
func (o pageOption) forMemory(s *settings)     { o(s) }
func (o appendOption) forAppend(s *settings)   { o(s) }

func expiring(expiry *pb.Expiry) propertyOption {
	return func(s *settings) {
		if s.expiry != nil {
			s.fail("set at most one of WithTTL, WithExpireTime and WithoutExpiry")
		}
		s.expiry = expiry
	}
}

// WithTTL sets the duration from now after which the session expires. Default: the server's, 60 days unless configured
// otherwise.
func WithTTL(ttl time.Duration) interface {
	CreateOption
	UpdateOption
	ForkOption
} {
	return expiring(&pb.Expiry{Kind: &pb.Expiry_Ttl{Ttl: durationpb.New(ttl)}})
}

// WithExpireTime sets the time at which the session expires, not in the past.
func WithExpireTime(at time.Time) interface {
	CreateOption
	UpdateOption
	ForkOption
} {
	return expiring(&pb.Expiry{Kind: &pb.Expiry_ExpireTime{ExpireTime: timestamppb.New(at)}})
}

// WithoutExpiry makes the session never expire.
func WithoutExpiry() interface {
	CreateOption
	UpdateOption
	ForkOption
} {
	return expiring(&pb.Expiry{Kind: &pb.Expiry_NeverExpires{NeverExpires: true}})
}

// WithLabels sets the labels of a created session, replaces all labels in an update, adds to or replaces those that a fork
// inherits, and otherwise selects sessions that have all of these labels. At most 64.
func WithLabels(labels map[string]string) interface {
	CreateOption
	UpdateOption
	ForkOption
	SessionsOption
	WatchAllOption
	ConsumeOption
} {
	return labelsOption(func(s *settings) {
		s.labels = map[string]string{}
		maps.Copy(s.labels, labels)
	})
}

// WithMetadata sets the metadata: JSON text (a string, []byte or json.RawMessage), kept verbatim, or a value for json.Marshal.
// An update replaces all of the old metadata, and a fork has it in place of its parent's; "" is none. At most 256 KiB.
func WithMetadata(metadata any) interface {
	CreateOption
	UpdateOption
	ForkOption
	MemoryOption
} {
	return metadataOption(func(s *settings) { s.metadata = s.json(metadata) })
}

// PatchMetadata applies a merge patch (RFC 7396) in the form of WithMetadata: its members replace those of the metadata, and
// null removes one.
func PatchMetadata(patch any) UpdateOption {
	return updateOption(func(s *settings) { s.patch = s.json(patch) })
}

// SetLabels adds or replaces labels; the others stay.
func SetLabels(labels map[string]string) UpdateOption {
	return updateOption(func(s *settings) { s.setLabels = maps.Clone(labels) })
}

// RemoveLabels removes the labels with these keys, before SetLabels.
func RemoveLabels(keys ...string) UpdateOption {
	return updateOption(func(s *settings) { s.removeLabels = append(s.removeLabels, keys...) })
}

// WithETag requires the session to have this etag, which was read; ErrVersionMismatch if another update came between.
func WithETag(etag string) UpdateOption {
	return updateOption(func(s *settings) { s.etag = etag })
}

// WithContextBytes sets the default size of the session's contexts; 0 is the server's. A fork has by default its parent's.
func WithContextBytes(n int64) interface {
	CreateOption
	UpdateOption
	ForkOption
} {
	return sizeOption(func(s *settings) { s.contextBytes = &n })
}

// WithCreateTime sets the start of an imported conversation. Default: now.
func WithCreateTime(at time.Time) CreateOption {
	return createOption(func(s *settings) { s.createTime = timestamppb.New(at) })
}

// WithParent names the origin of an imported session that is a fork: a record for lists of forks, which the server does not look up.
// Its app and user are those of the session, or empty; its session id and uid are required. Default: none.
func WithParent(parent *pb.SessionParent) CreateOption {
	return createOption(func(s *settings) { s.parent = parent })
}

// WithReturnExisting returns an existing session unchanged instead of failing.
func WithReturnExisting() CreateOption {
	return createOption(func(s *settings) { s.returnExisting = true })
}

// WithUniqueInApp fails if another user of the app has a session with this id.
func WithUniqueInApp() CreateOption {
	return createOption(func(s *settings) { s.uniqueInApp = true })
}

// PurgeMemories also deletes the memories that came from the deleted sessions.
func PurgeMemories() interface {
	DeleteOption
	EraseOption
} {
	return purgeOption(func(s *settings) { s.purge = true })
}

// WithUID deletes the session only if it has this uid; ErrVersionMismatch if it was deleted and created again.
func WithUID(uid string) DeleteOption {
	return deleteOption(func(s *settings) { s.uid = uid })
}

// ExpiredBefore deletes only sessions that expired by this time. Default: now.
func ExpiredBefore(at time.Time) ExpiredOption {
	return expiredOption(func(s *settings) { s.before = timestamppb.New(at) })
}

// WithRequestID names an erasure: a repetition continues after a failure, and returns the same receipt for 30 days.
func WithRequestID(id string) EraseOption {
	return eraseOption(func(s *settings) { s.requestID = id })
}

// WithProgress is called with the receipt so far, after each call of an erasure.
func WithProgress(progress func(*pb.ErasureReceipt)) EraseOption {
	return eraseOption(func(s *settings) { s.progress = progress })
}

// WithPageSize sets the maximum number of items per page. Default: the server's; at most 1,000.
func WithPageSize(n int) interface {
	PageOption
	LoadOption
	UsageOption
	SessionsOption
	UsersOption
	AuditOption
	EventsOption
	UserEventsOption
	SearchOption
	MemoryOption
	NamespacesOption
} {
	return pageOption(func(s *settings) { s.pageSize = int32(min(max(n, -1), 1<<30)) })
}

// WithPageToken continues after a page; all other options must be unchanged.
func WithPageToken(token string) interface {
	PageOption
	UsageOption
	SessionsOption
	UsersOption
	AuditOption
	EventsOption
	UserEventsOption
	SearchOption
	MemoryOption
	NamespacesOption
} {
	return pageOption(func(s *settings) { s.pageToken = token })
}

// json returns the JSON text of a value.
func (s *settings) json(value any) *string {
	text, err := jsonText(value)
	if err != nil {
		s.err = errors.Join(s.err, err)
	}
	return &text
}

// jsonText returns the JSON text of a value; text is returned unchanged.
func jsonText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case json.RawMessage:
		return string(v), nil
	case []byte:
		return string(v), nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}
