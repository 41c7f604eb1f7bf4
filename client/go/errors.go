package recollect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recollect-dev/recollect-go/recollect/v1"
)

// ErrClosed is the error of calls on a client that is closed, and of those that its closing ended.
var ErrClosed = errors.New("recollect: the client is closed")

const errorDomain = "recollect.dev"

// Error is how a call fails.
//
// errors.Is compares it with a Reason; and with context.DeadlineExceeded, context.Canceled and ErrClosed where one of these
// ended the call. status.Code of gRPC reads its Code.
type Error struct {
	// Reason is why, empty when no Recollect server gave one. Code tells it where the server's absence or a proxy's answer leaves
	// no doubt: DeadlineExceeded, Unauthenticated, PermissionDenied, Internal.
	Reason Reason
	// Code is the status code of gRPC. Unavailable: nothing was acknowledged, and a retry with the same event ids may succeed.
	Code codes.Code
	// Message is for people.
	Message string
	// Metadata is the reason's; the proto of ErrorReason names the keys.
	Metadata map[string]string
	// Fields are the fields of the request that are not valid.
	Fields []FieldViolation
	// RetryAfter is how long to wait before the same request can succeed; nil when the server did not say.
	RetryAfter *time.Duration

	cause error
	wire  *status.Status
}

// FieldViolation is a field of a request, as a path, and what is wrong with it.
type FieldViolation struct {
	Field       string
	Description string
}

// Error is the reason, or else the code, and the message.
func (e *Error) Error() string {
	if e.Reason != "" {
		return fmt.Sprintf("recollect: %s: %s", string(e.Reason), e.Message)
	}
	return fmt.Sprintf("recollect: %s: %s", e.Code, e.Message)
}

// Is has errors.Is compare with a Reason.
func (e *Error) Is(target error) bool {
	reason, ok := target.(Reason)
	return ok && reason == e.Reason
}

// Unwrap is what ended the call on this side: context.DeadlineExceeded, context.Canceled, ErrClosed or nil.
func (e *Error) Unwrap() error {
	return e.cause
}

// GRPCStatus is the error as gRPC knows it, with the details that were sent.
func (e *Error) GRPCStatus() *status.Status {
	if e.wire != nil && e.wire.Code() == e.Code {
		return e.wire
	}
	return status.New(e.Code, e.Message)
}

// Without an ErrorInfo these codes still leave one reason.
var reasonOf = map[codes.Code]Reason{
	codes.DeadlineExceeded: DeadlineExceeded,
	codes.Unauthenticated:  Unauthenticated,
	codes.PermissionDenied: PermissionDenied,
	codes.Internal:         Internal,
}

// gRPC's own words for a connection that broke under a call; a fault of the server carries an ErrorInfo.
var broken = []string{"RST_STREAM", "without sending trailers"}

// newError is the *Error for what gRPC returned, of a call to address. closed: the client was closed by then.
func newError(err error, address string, closed bool) *Error {
	var typed *Error
	if errors.As(err, &typed) {
		return typed
	}
	wire := status.Convert(err)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		wire = status.FromContextError(err)
	}
	e := &Error{Code: wire.Code(), Message: wire.Message(), wire: wire}
	e.readDetails()
	if e.Reason == "" {
		e.explain(address, closed)
	}
	return e
}

func (e *Error) readDetails() {
	for _, detail := range e.wire.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == errorDomain {
				e.Reason, e.Metadata = Reason(d.GetReason()), d.GetMetadata()
			}
		case *errdetails.RetryInfo:
			after := d.GetRetryDelay().AsDuration()
			e.RetryAfter = &after
		case *errdetails.BadRequest:
			for _, violation := range d.GetFieldViolations() {
				e.Fields = append(e.Fields, FieldViolation{violation.GetField(), violation.GetDescription()})
			}
		}
	}
}

// explain says of an error that is not the server's own what it means.
func (e *Error) explain(address string, closed bool) {
	if e.Code == codes.Internal || e.Code == codes.Unknown {
		for _, words := range broken {
			if strings.Contains(e.Message, words) {
				e.Code = codes.Unavailable
			}
		}
	}
	e.Reason = reasonOf[e.Code]
	switch {
	case closed:
		e.Code, e.Reason, e.Message, e.cause = codes.Canceled, "", "the client is closed", ErrClosed
	case e.Code == codes.Unavailable:
		e.Message = fmt.Sprintf("no server at %s (%s); start one with `make serve` in Recollect's repository", address, e.Message)
	case e.Code == codes.DeadlineExceeded:
		e.cause = context.DeadlineExceeded
	case e.Code == codes.Canceled:
		e.cause = context.Canceled
	}
	if e.Message == "" {
		e.Message = e.Code.String()
	}
}

// ErrorOf is the error of one result of an AppendStream, nil when its batch was appended.
func ErrorOf(result *recollectv1.AppendStreamResult) error {
	failed := result.GetError()
	if failed == nil {
		return nil
	}
	return &Error{
		Reason:   Reason(failed.GetReason()),
		Code:     codes.Code(failed.GetCode()),
		Message:  failed.GetMessage(),
		Metadata: failed.GetMetadata(),
	}
}
