package threadkeep

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
)

// ErrClosed is wrapped by the errors of calls that Close ended, and of calls on a closed client.
var ErrClosed = errors.New("threadkeep: the client is closed")

const errorDomain = "threadkeep.dev"

// Error is the error of a failed call.
//
// errors.Is compares it with a Reason, and with context.DeadlineExceeded, context.Canceled and ErrClosed if one of these ended
// the call. gRPC's status.Code reads its Code.
type Error struct {
	// Reason is the server's reason. Without one it is derived from unambiguous codes (ErrDeadlineExceeded, ErrUnauthenticated,
	// ErrPermissionDenied, ErrInternal); otherwise it is empty.
	Reason Reason
	// Code is the gRPC status code. Unavailable: nothing was acknowledged, and a retry with the same event ids may succeed.
	Code codes.Code
	// Message is a message for people.
	Message string
	// Metadata is the metadata of the reason; see ErrorReason for the keys.
	Metadata map[string]string
	// Violations are the invalid fields of the request.
	Violations []FieldViolation
	// RetryAfter is the time after which the same request can succeed; 0 if the server specifies none.
	RetryAfter time.Duration

	cause   error
	details []*anypb.Any
}

// FieldViolation is an invalid field of a request.
type FieldViolation struct {
	// Field is the path in the request, for example "events[3].message".
	Field string
	// Description of the problem.
	Description string
}

// Error returns reason, code, message and the request id, as far as there are any.
func (e *Error) Error() string {
	named := e.Code.String()
	if e.Reason != "" {
		named = fmt.Sprintf("%s (%s)", e.Reason, e.Code)
	}
	if id := e.RequestID(); id != "" {
		return fmt.Sprintf("threadkeep: %s: %s [request %s]", named, e.Message, id)
	}
	return fmt.Sprintf("threadkeep: %s: %s", named, e.Message)
}

// RequestID returns the id under which the server logged the failure; empty if it sent none.
func (e *Error) RequestID() string {
	return e.Metadata["request_id"]
}

// IsTransient reports whether the same call may succeed later: the server is unavailable, or specifies a retry delay.
func (e *Error) IsTransient() bool {
	return e.Code == codes.Unavailable || e.RetryAfter > 0
}

// Is makes errors.Is compare the error with a Reason.
func (e *Error) Is(target error) bool {
	reason, ok := target.(Reason)
	return ok && reason == e.Reason
}

// Unwrap returns the local cause: context.DeadlineExceeded, context.Canceled, ErrClosed or nil.
func (e *Error) Unwrap() error {
	return e.cause
}

// GRPCStatus returns the error as a gRPC status with the server's details, so that a server can return it to its callers.
func (e *Error) GRPCStatus() *status.Status {
	return status.FromProto(&spb.Status{Code: int32(e.Code), Message: e.Message, Details: e.details})
}

// gRPC's messages for a connection that broke during a call; a server error carries an ErrorInfo.
var broken = regexp.MustCompile("RST_STREAM|without sending trailers")

// gRPC's messages for a server that responds in HTTP/1.1.
var notHTTP2 = regexp.MustCompile("error reading server preface|looked like an HTTP/1.1 header")

// newError returns the *Error for an error of gRPC or of a context, in a call to address. closed reports whether the client was
// closed.
func newError(err error, address string, closed bool) *Error {
	wire, ok := status.FromError(err)
	if !ok {
		wire = status.FromContextError(err)
	}
	e := &Error{Code: wire.Code(), Message: wire.Message(), details: wire.Proto().GetDetails()}
	for _, detail := range wire.Details() {
		switch d := detail.(type) {
		case *errdetails.ErrorInfo:
			if d.GetDomain() == errorDomain {
				e.Reason, e.Metadata = Reason(d.GetReason()), d.GetMetadata()
			}
		case *errdetails.RetryInfo:
			e.RetryAfter = d.GetRetryDelay().AsDuration()
		case *errdetails.BadRequest:
			for _, violation := range d.GetFieldViolations() {
				e.Violations = append(e.Violations, FieldViolation{violation.GetField(), violation.GetDescription()})
			}
		}
	}
	if e.Reason == "" {
		e.explain(address, closed)
	}
	return e
}

// explain describes an error that does not come from the server.
func (e *Error) explain(address string, closed bool) {
	if (e.Code == codes.Internal || e.Code == codes.Unknown) && broken.MatchString(e.Message) {
		e.Code = codes.Unavailable
	}
	if closed {
		e.Code, e.Message, e.cause = codes.Canceled, "the client is closed", ErrClosed
		return
	}
	switch e.Code {
	case codes.Unavailable:
		if notHTTP2.MatchString(e.Message) {
			e.Message = fmt.Sprintf("%s does not respond in gRPC; it may be the server's HTTP port. The default gRPC port is %s (%s)",
				address, defaultPort, e.Message)
			return
		}
		e.Message = fmt.Sprintf("no server at %s (%s); start one with `make serve` in Threadkeep's repository", address, e.Message)
	case codes.DeadlineExceeded:
		e.Reason, e.cause = ErrDeadlineExceeded, context.DeadlineExceeded
	case codes.Canceled:
		e.cause = context.Canceled
	case codes.Unauthenticated:
		e.Reason = ErrUnauthenticated
	case codes.PermissionDenied:
		e.Reason = ErrPermissionDenied
	case codes.Internal:
		e.Reason = ErrInternal
	}
}
