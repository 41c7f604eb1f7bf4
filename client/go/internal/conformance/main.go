// The conformance driver: see tests/conformance/README.md of the repository. What is malformed in a request panics.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/recollect-dev/recollect-go"
	pb "github.com/recollect-dev/recollect-go/recollect/v1"
)

// request is a line, and a builder's arguments. Bytes travel as base64, which encoding/json does by itself.
type request struct {
	ID, Target, Limit                             int
	Op, Client, Address, App, Token, RPC, Summary string
	Builder, Text, Author, Name, JSON             string
	Request, Session, Spec, Strategy              []byte
	Events                                        [][]byte
	Create, Checkpoints                           bool
	Args                                          *request
	Calls                                         []*pb.ToolCallPart
	UserID                                        string        `json:"user_id"`
	CallID                                        string        `json:"call_id"`
	IsError                                       bool          `json:"is_error"`
	Milliseconds                                  time.Duration `json:"timeout_ms"`
	IgnoreExisting                                bool          `json:"ignore_existing"`
	LogVersion                                    *int64        `json:"expected_log_version,string"`
	LastEventID                                   *string       `json:"expected_last_event_id"`
	MaxRetries                                    *int          `json:"max_retries"`
}

type object map[string]any

var clients, cancels sync.Map
var output = log.New(os.Stdout, "", 0)

func main() {
	for input := json.NewDecoder(os.Stdin); input.More(); {
		r := &request{}
		must(r, input.Decode(r))
		ctx, cancel := context.WithCancel(context.Background())
		if r.Milliseconds > 0 && r.Op != "connect" {
			ctx, cancel = context.WithTimeout(ctx, r.Milliseconds*time.Millisecond)
		}
		cancels.Store(r.ID, cancel) // for good: what is cancelled may just have ended
		go func() {
			answer, err := r.perform(ctx)
			if err != nil && !(r.Op == "watch" && errors.Is(err, context.Canceled)) {
				write(object{"id": r.ID, "error": describe(err)})
			} else {
				write(object{"id": r.ID, "ok": answer})
			}
		}()
	}
}

func write(line object) { output.Print(string(must(json.Marshal(line)))) }

func (r *request) perform(ctx context.Context) (object, error) {
	known, _ := clients.Load(r.Client)
	client, _ := known.(*recollect.Client)
	ref, strategy := decode[*pb.SessionRef](r.Session), decode[*pb.CompactionStrategy](r.Strategy)
	session := client.SessionOf(ref)
	if ref != nil && ref.App == "" && ref.UserId == "" {
		session = client.Session(ref.SessionId)
	}
	switch r.Op {
	case "hello":
		return object{"language": "go", "version": recollect.Version}, nil
	case "connect":
		options := recollect.Options{Address: r.Address, App: r.App, UserID: r.UserID, Token: r.Token}
		options.Timeout = cmp.Or(r.Milliseconds*time.Millisecond, -1)
		client, err := recollect.New(options)
		clients.Store(r.Client, client)
		return object{}, err
	case "close":
		return object{}, client.Close()
	case "cancel":
		cancel, _ := cancels.Load(r.Target)
		cancel.(context.CancelFunc)()
		return object{}, nil
	case "build":
		return object{"event": encode(r.Args.build(r.Builder))}, nil
	case "append":
		events := make([]*recollect.Event, len(r.Events))
		for i, data := range r.Events {
			events[i] = decode[*recollect.Event](data)
		}
		return reply(session.Append(ctx, events, flag(r.Create, recollect.Create), flag(r.IgnoreExisting, recollect.IgnoreExisting),
			given(r.LogVersion, recollect.ExpectLogVersion), given(r.LastEventID, recollect.ExpectLastEventID)))
	case "context":
		return reply(session.Context(ctx, decode[*pb.ContextSpec](r.Spec)))
	case "compact":
		return reply(session.Compact(ctx, strategy))
	case "compact_with":
		summarise := func(context.Context, *pb.SummaryPrompt) (string, error) { return r.Summary, nil }
		return reply(session.CompactWith(ctx, summarise, strategy))
	}
	return r.call(ctx, client)
}

func (r *request) call(ctx context.Context, client *recollect.Client) (object, error) {
	name := protoreflect.FullName("recollect.v1." + strings.Replace(r.RPC, "/", ".", 1))
	method := must(protoregistry.GlobalFiles.FindDescriptorByName(name)).(protoreflect.MethodDescriptor)
	in := must(protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())).New().Interface()
	out := must(protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())).New().Interface()
	must(in, proto.Unmarshal(r.Request, in))
	if r.Op == "call" {
		return reply(out, client.Conn().Invoke(ctx, "/recollect.v1."+r.RPC, in, out))
	}
	checkpoints, retries := flag(r.Checkpoints, recollect.Checkpoints), given(r.MaxRetries, recollect.MaxRetries)
	switch in := in.(type) {
	case *pb.ListSessionsRequest:
		return items(r, client.ListSessions(ctx, in))
	case *pb.SearchEventsRequest:
		return items(r, client.Search(ctx, in))
	case *pb.ListEventsRequest:
		return items(r, client.SessionOf(in.Session).Events(ctx, in))
	case *pb.ListCompactionsRequest:
		return items(r, client.SessionOf(in.Session).Compactions(ctx, in))
	case *pb.WatchSessionRequest:
		return items(r, client.SessionOf(in.Session).Watch(ctx, in, checkpoints, retries))
	}
	return items(r, client.WatchAll(ctx, in.(*pb.WatchAllRequest), checkpoints, retries))
}

// items sends a watch's changes as they come, and answers with the items of pages.
func items[M proto.Message](r *request, all iter.Seq2[M, error]) (object, error) {
	found := [][]byte{}
	for item, err := range all {
		if err != nil {
			return nil, err
		} else if r.Op == "watch" {
			write(object{"id": r.ID, "item": encode(item)})
		} else if found = append(found, encode(item)); len(found) == r.Limit {
			break
		}
	}
	return object{"items": found}, nil
}

func (r *request) build(builder string) *recollect.Event {
	var calls []*recollect.Part
	for _, call := range r.Calls {
		calls = append(calls, recollect.ToolCall(call.Id, call.Name, call.ArgumentsJson))
	}
	event := map[string]*recollect.Event{
		"user": recollect.User(r.Text), "system": recollect.System(r.Text), "assistant": recollect.Assistant(r.Text),
		"assistant_calls": recollect.Assistant(r.Text, calls...), "tool_result": recollect.ToolResult(r.CallID, r.Name, r.Text),
	}[builder]
	if r.JSON != "" {
		event = recollect.ToolResultJSON(r.CallID, r.Name, r.JSON)
	}
	if r.IsError {
		event = recollect.AsError(event)
	}
	event.Author = r.Author
	return event
}

func describe(err error) object {
	e, name, fields, after := &recollect.Error{Message: err.Error()}, "USAGE", []string{}, any(nil)
	if errors.As(err, &e) {
		name = code.Code_name[int32(e.Code)]
	}
	for _, violation := range e.Fields {
		fields = append(fields, violation.Field)
	}
	if e.RetryAfter > 0 {
		after = e.RetryAfter.Milliseconds()
	}
	metadata := maps.Collect(maps.All(e.Metadata)) // not nil, which would be null
	return object{
		"code": name, "reason": e.Reason, "message": e.Message, "metadata": metadata, "fields": fields, "retry_after_ms": after,
	}
}

// flag is the option if it is wanted, else one that changes nothing.
func flag[T any, O ~func(T)](wanted bool, option func() O) O {
	if wanted {
		return option()
	}
	return func(T) {}
}

func given[V, T any, O ~func(T)](value *V, option func(V) O) O {
	return flag(value != nil, func() O { return option(*value) })
}

// decode is the message, nil without data.
func decode[M proto.Message](data []byte) (m M) {
	if data != nil {
		m = m.ProtoReflect().New().Interface().(M)
		must(m, proto.Unmarshal(data, m))
	}
	return m
}

func encode(m proto.Message) []byte { return must(proto.MarshalOptions{}.MarshalAppend([]byte{}, m)) }

func reply[M proto.Message](m M, err error) (object, error) {
	return object{"response": encode(m)}, err
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
