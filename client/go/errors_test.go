package threadkeep

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

func TestEveryReasonOfTheProtosHasAConstant(t *testing.T) {
	source, err := parser.ParseFile(token.NewFileSet(), "reasons.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]bool{}
	ast.Inspect(source, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			text, _ := strconv.Unquote(literal.Value)
			constants[text] = true
		}
		return true
	})
	for number, name := range pb.ErrorReason_name {
		if short := strings.TrimPrefix(name, "ERROR_REASON_"); number != 0 && !constants[short] {
			t.Errorf("%s has no constant", short)
		}
	}
	for text := range constants {
		if known := Reason(text).Enum() != 0; !known && strings.ToUpper(text) == text && text != "ERROR_REASON_" {
			t.Errorf("%s is not in the protos", text)
		}
	}
}

func TestErrorHasTheServersDetails(t *testing.T) {
	bad := &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "page_size", Description: "no"}}}
	sent := refusal(codes.InvalidArgument, ErrInvalidField, map[string]string{"field": "page_size"}, bad, retryInfo(1500*time.Millisecond))
	err := fmt.Errorf("while reading: %w", error(newError(sent, "a:1", false)))
	var e *Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if !errors.Is(err, ErrInvalidField) || errors.Is(err, ErrSessionNotFound) || e.Reason.Enum() != pb.ErrorReason_ERROR_REASON_INVALID_FIELD {
		t.Error(e.Reason)
	}
	if e.Code != codes.InvalidArgument || e.Message != "the server says so" || e.Metadata["field"] != "page_size" {
		t.Errorf("%+v", e)
	}
	if len(e.Violations) != 1 || e.Violations[0].Field != "page_size" || e.Violations[0].Description != "no" {
		t.Error(e.Violations)
	}
	if e.RetryAfter != 1500*time.Millisecond {
		t.Error(e.RetryAfter)
	}
	if e.Error() != "threadkeep: INVALID_FIELD (InvalidArgument): the server says so" || status.Code(err) != codes.InvalidArgument {
		t.Error(e)
	}
}

func TestErrorSaysTheRequestIDAndWhetherItIsTransient(t *testing.T) {
	e := newError(refusal(codes.Internal, ErrInternal, map[string]string{"request_id": "r1"}), "a:1", false)
	if e.RequestID() != "r1" || e.Error() != "threadkeep: INTERNAL (Internal): the server says so [request r1]" || e.IsTransient() {
		t.Error(e)
	}
	for _, err := range []error{refusal(codes.Unavailable, ErrServerDraining, nil), refusal(codes.ResourceExhausted, ErrRateLimited, nil, retryInfo(1))} {
		if e := newError(err, "a:1", false); !e.IsTransient() {
			t.Error(e)
		}
	}
}

func TestReasonOfANewerServerIsKept(t *testing.T) {
	err := newError(refusal(codes.FailedPrecondition, "MOON_IN_THE_WAY", nil), "a:1", false)
	if err.Reason != "MOON_IN_THE_WAY" || !errors.Is(err, Reason("MOON_IN_THE_WAY")) || err.Reason.Enum() != 0 {
		t.Fatal(err)
	}
}

func TestReasonOfAnotherDomainIsIgnored(t *testing.T) {
	st, err := status.New(codes.ResourceExhausted, "proxy").WithDetails(&errdetails.ErrorInfo{Reason: "X", Domain: "proxy.example"})
	if err != nil {
		t.Fatal(err)
	}
	if e := newError(st.Err(), "a:1", false); e.Reason != "" || e.Code != codes.ResourceExhausted {
		t.Fatal(e)
	}
}

func TestErrorReturnedByAServerKeepsItsDetails(t *testing.T) {
	sent := refusal(codes.Aborted, ErrVersionMismatch, map[string]string{"actual": "9"}, retryInfo(time.Second))
	passedOn := newError(status.Convert(error(newError(sent, "a:1", false))).Err(), "b:2", false)
	if !errors.Is(passedOn, ErrVersionMismatch) || passedOn.Metadata["actual"] != "9" || passedOn.RetryAfter != time.Second {
		t.Errorf("%+v", passedOn)
	}
	if st := newError(status.Error(codes.Unavailable, "away"), "a:1", false).GRPCStatus(); !strings.Contains(st.Message(), "no server") {
		t.Error(st)
	}
}

func TestErrorsWithoutAReason(t *testing.T) {
	for name, want := range map[string]struct {
		err    error
		code   codes.Code
		reason Reason
		cause  error
		words  string
	}{
		"broken":   {status.Error(codes.Internal, "stream terminated by RST_STREAM with error code: INTERNAL_ERROR"), codes.Unavailable, "", nil, "no server at a:1 (stream"},
		"cut":      {status.Error(codes.Internal, "server closed the stream without sending trailers"), codes.Unavailable, "", nil, "no server at a:1"},
		"internal": {status.Error(codes.Internal, "grpc: failed to unmarshal"), codes.Internal, ErrInternal, nil, "unmarshal"},
		"deadline": {context.DeadlineExceeded, codes.DeadlineExceeded, ErrDeadlineExceeded, context.DeadlineExceeded, "deadline"},
		"canceled": {context.Canceled, codes.Canceled, "", context.Canceled, "canceled"},
		"token":    {status.Error(codes.Unauthenticated, "who?"), codes.Unauthenticated, ErrUnauthenticated, nil, "who?"},
		"other":    {errors.New("not of gRPC"), codes.Unknown, "", nil, "not of gRPC"},
	} {
		e := newError(want.err, "a:1", false)
		if e.Code != want.code || e.Reason != want.reason || !strings.Contains(e.Error(), want.words) {
			t.Errorf("%s: %+v", name, e)
		}
		if want.cause != errors.Unwrap(e) {
			t.Errorf("%s: %v", name, errors.Unwrap(e))
		}
		if status.Code(e) != want.code {
			t.Errorf("%s: gRPC sees %v", name, status.Code(e))
		}
	}
}
