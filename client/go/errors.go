package threadkeep

import (
	"cmp"
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

// ErrClosed is what the errors wrap of calls that Close ended, and of those on a client that is closed.
var ErrClosed = errors.New("threadkeep: the client is closed")

const errorDomain = "threadkeep.dev"

// Error is how a call fails.
//
// errors.Is compares it with a Reason; and with context.DeadlineExceeded, context.Canceled and ErrClosed where one of these
// ended the call. status.Code of gRPC reads its Code.
type Error struct {
	// Reason is why, empty when no Threadkeep server gave one. Code tells it where the server's absence or a proxy's answer leaves
	// no doubt: DeadlineExceeded, Unauthenticated, PermissionDenied, Internal.
	Reason Reason
	// Code is the status code of gRPC. Unavailable: nothing was acknowledged, and a retry with the same event ids may succeed.
	Code codes.Code
	// Message is for people.
	Message string
	// Metadata is the reason's; the proto of ErrorReason names the keys.
	Metadata map[string]string
	// Fields are the fields of the request that are not valid, each a path and what is wrong with it.
	Fields []*errdetails.BadRequest_FieldViolation
	// RetryAfter is how long to wait before the same request can succeed; 0 when the server did not say.
	RetryAfter time.Duration

	cause   error
	details []*anypb.Any
}

// Error is the reason, or else the code, and the message.
func (e *Error) Error() string {
	return fmt.Sprintf("threadkeep: %s: %s", cmp.Or(string(e.Reason), e.Code.String()), e.Message)
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

// GRPCStatus is the error as gRPC knows it, with the details that the server sent: a server that returns it passes them on.
func (e *Error) GRPCStatus() *status.Status {
	return status.FromProto(&spb.Status{Code: int32(e.Code), Message: e.Message, Details: e.details})
}

// gRPC's own words for a connection that broke under a call; a fault of the server carries an ErrorInfo.
var broken = regexp.MustCompile("RST_STREAM|without sending trailers")

// gRPC's own words for a server that answers in HTTP/1.1.
var notHTTP2 = regexp.MustCompile("error reading server preface|looked like an HTTP/1.1 header")

// newError is the *Error for what gRPC or a context returned, of a call to address. closed: the client was closed by then.
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
			e.Fields = d.GetFieldViolations()
		}
	}
	if e.Reason == "" {
		e.explain(address, closed)
	}
	return e
}

// explain says of an error that is not the server's own what it means.
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
			e.Message = fmt.Sprintf("%s does not speak gRPC: is it the server's HTTP port? gRPC is at port %s unless the server says "+
				"otherwise (%s)", address, defaultPort, e.Message)
			return
		}
		e.Message = fmt.Sprintf("no server at %s (%s); start one with `make serve` in Threadkeep's repository", address, e.Message)
	case codes.DeadlineExceeded:
		e.Reason, e.cause = DeadlineExceeded, context.DeadlineExceeded
	case codes.Canceled:
		e.cause = context.Canceled
	case codes.Unauthenticated:
		e.Reason = Unauthenticated
	case codes.PermissionDenied:
		e.Reason = PermissionDenied
	case codes.Internal:
		e.Reason = Internal
	}
}
