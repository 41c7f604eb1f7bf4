package threadkeep

import "github.com/threadkeep/threadkeep-go/threadkeep/v1"

// Reason is the reason of an error: its name in ErrorReason, without the prefix. It is an error so that errors.Is accepts it. A
// reason of a newer server is kept as text.
type Reason string

// The reasons of this version; see ErrorReason for what to do about each.
const (
	InvalidField            Reason = "INVALID_FIELD"
	InvalidPageToken        Reason = "INVALID_PAGE_TOKEN"
	EventTooLarge           Reason = "EVENT_TOO_LARGE"
	BatchTooLarge           Reason = "BATCH_TOO_LARGE"
	SessionNotFound         Reason = "SESSION_NOT_FOUND"
	EventNotFound           Reason = "EVENT_NOT_FOUND"
	SessionAlreadyExists    Reason = "SESSION_ALREADY_EXISTS"
	EventIDConflict         Reason = "EVENT_ID_CONFLICT"
	VersionMismatch         Reason = "VERSION_MISMATCH"
	AmbiguousSession        Reason = "AMBIGUOUS_SESSION"
	Unauthenticated         Reason = "UNAUTHENTICATED"
	PermissionDenied        Reason = "PERMISSION_DENIED"
	ServerDraining          Reason = "SERVER_DRAINING"
	StoreUnavailable        Reason = "STORE_UNAVAILABLE"
	RateLimited             Reason = "RATE_LIMITED"
	DeadlineExceeded        Reason = "DEADLINE_EXCEEDED"
	Internal                Reason = "INTERNAL"
	NothingToCompact        Reason = "NOTHING_TO_COMPACT"
	BrokenToolPair          Reason = "BROKEN_TOOL_PAIR"
	SummarizerNotConfigured Reason = "SUMMARIZER_NOT_CONFIGURED"
	SummarizerFailed        Reason = "SUMMARIZER_FAILED"
	InvalidResumeToken      Reason = "INVALID_RESUME_TOKEN"
	ResumePositionExpired   Reason = "RESUME_POSITION_EXPIRED"
	WatchTooSlow            Reason = "WATCH_TOO_SLOW"
	QuotaExceeded           Reason = "QUOTA_EXCEEDED"
	ConsumerNotFound        Reason = "CONSUMER_NOT_FOUND"
	ConsumerMismatch        Reason = "CONSUMER_MISMATCH"
	MemoryNotConfigured     Reason = "MEMORY_NOT_CONFIGURED"
	MemoryIDConflict        Reason = "MEMORY_ID_CONFLICT"
	EmbedderNotConfigured   Reason = "EMBEDDER_NOT_CONFIGURED"
	EmbedderFailed          Reason = "EMBEDDER_FAILED"
	EncryptionKeyDestroyed  Reason = "ENCRYPTION_KEY_DESTROYED"
	SearchDisabled          Reason = "SEARCH_DISABLED"
	HistoryUnknown          Reason = "HISTORY_UNKNOWN"
)

// Error returns the name of the reason.
func (r Reason) Error() string {
	return string(r)
}

// Enum returns the generated enum value; ERROR_REASON_UNSPECIFIED if this version does not know the reason.
func (r Reason) Enum() threadkeepv1.ErrorReason {
	return threadkeepv1.ErrorReason(threadkeepv1.ErrorReason_value["ERROR_REASON_"+string(r)])
}
