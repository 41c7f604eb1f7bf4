package threadkeep

import pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"

// Reason is the reason of an error: its name in ErrorReason, without the prefix. It is an error so that errors.Is accepts it. A
// reason of a newer server is kept as text.
type Reason string

// The reasons of this version; see ErrorReason for what to do about each.
const (
	ErrInvalidField            Reason = "INVALID_FIELD"
	ErrInvalidPageToken        Reason = "INVALID_PAGE_TOKEN"
	ErrEventTooLarge           Reason = "EVENT_TOO_LARGE"
	ErrBatchTooLarge           Reason = "BATCH_TOO_LARGE"
	ErrSessionNotFound         Reason = "SESSION_NOT_FOUND"
	ErrEventNotFound           Reason = "EVENT_NOT_FOUND"
	ErrSessionAlreadyExists    Reason = "SESSION_ALREADY_EXISTS"
	ErrEventIDConflict         Reason = "EVENT_ID_CONFLICT"
	ErrVersionMismatch         Reason = "VERSION_MISMATCH"
	ErrAmbiguousSession        Reason = "AMBIGUOUS_SESSION"
	ErrUnauthenticated         Reason = "UNAUTHENTICATED"
	ErrPermissionDenied        Reason = "PERMISSION_DENIED"
	ErrServerDraining          Reason = "SERVER_DRAINING"
	ErrStoreUnavailable        Reason = "STORE_UNAVAILABLE"
	ErrRateLimited             Reason = "RATE_LIMITED"
	ErrDeadlineExceeded        Reason = "DEADLINE_EXCEEDED"
	ErrInternal                Reason = "INTERNAL"
	ErrNothingToCompact        Reason = "NOTHING_TO_COMPACT"
	ErrBrokenToolPair          Reason = "BROKEN_TOOL_PAIR"
	ErrSummarizerNotConfigured Reason = "SUMMARIZER_NOT_CONFIGURED"
	ErrSummarizerFailed        Reason = "SUMMARIZER_FAILED"
	ErrWebhookFailed           Reason = "WEBHOOK_FAILED"
	ErrInvalidResumeToken      Reason = "INVALID_RESUME_TOKEN"
	ErrResumePositionExpired   Reason = "RESUME_POSITION_EXPIRED"
	ErrWatchTooSlow            Reason = "WATCH_TOO_SLOW"
	ErrQuotaExceeded           Reason = "QUOTA_EXCEEDED"
	ErrConsumerNotFound        Reason = "CONSUMER_NOT_FOUND"
	ErrConsumerMismatch        Reason = "CONSUMER_MISMATCH"
	ErrMemoryNotConfigured     Reason = "MEMORY_NOT_CONFIGURED"
	ErrMemoryIDConflict        Reason = "MEMORY_ID_CONFLICT"
	ErrEmbedderNotConfigured   Reason = "EMBEDDER_NOT_CONFIGURED"
	ErrEmbedderFailed          Reason = "EMBEDDER_FAILED"
	ErrEncryptionKeyDestroyed  Reason = "ENCRYPTION_KEY_DESTROYED"
	ErrSearchDisabled          Reason = "SEARCH_DISABLED"
	ErrStateTooLarge           Reason = "STATE_TOO_LARGE"
	ErrHistoryUnknown          Reason = "HISTORY_UNKNOWN"
	ErrAuditLogUnavailable     Reason = "AUDIT_LOG_UNAVAILABLE"
	ErrRetentionNotConfigured  Reason = "RETENTION_NOT_CONFIGURED"
	ErrArchiveFailed           Reason = "ARCHIVE_FAILED"
	ErrOperationConflict       Reason = "OPERATION_CONFLICT"
)

// Error returns the name of the reason.
func (r Reason) Error() string {
	return string(r)
}

// Enum returns the generated enum value; ERROR_REASON_UNSPECIFIED if this version does not know the reason.
func (r Reason) Enum() pb.ErrorReason {
	return pb.ErrorReason(pb.ErrorReason_value["ERROR_REASON_"+string(r)])
}
