// The conformance driver; see tests/conformance/README.md in the repository. It panics on malformed requests.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	"github.com/threadkeep/threadkeep-go"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoregistry"
)

func main() {
	clients, cancels := map[any]*threadkeep.Client{nil: {}}, map[any]context.CancelFunc{} // nil: for operations without a client
	for input := json.NewDecoder(os.Stdin); input.More(); {
		p, err := object{}, error(nil)
		must(p, input.Decode(&p))
		ctx, cancel := context.WithCancel(context.Background())
		if limit := time.Duration(get[float64](p, "timeout_ms")) * time.Millisecond; p["op"] == "connect" {
			clients[p["client"]], err = threadkeep.New(threadkeep.Config{Address: text(p, "address"), Token: text(p, "token"),
				App: text(p, "app"), UserID: text(p, "user_id"), Timeout: pick(limit > 0, limit, -1), TLS: secrets(get[object](p, "tls"))})
		} else if limit > 0 {
			ctx, cancel = context.WithTimeout(ctx, limit)
		}
		cancels[p["id"]] = cancel // kept: the canceled operation may just have ended
		go serve(ctx, pick(err == nil, clients[p["client"]], clients[nil]), cancels[p["target"]], p, err)
	}
}

func secrets(pem object) *tls.Config {
	if pem == nil {
		return nil
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM([]byte(text(pem, "ca")))
	if key := text(pem, "key"); key != "" {
		config.Certificates = []tls.Certificate{must(tls.X509KeyPair([]byte(text(pem, "certificate")), []byte(key)))}
	}
	return config
}

func serve(ctx context.Context, client *threadkeep.Client, target context.CancelFunc, p object, err error) {
	answer, err := perform(ctx, client, target, p, err)
	if err == nil || (p["op"] == "watch" && errors.Is(err, context.Canceled)) { // this is how a watch ends
		write(object{"id": p["id"], "ok": answer})
		return
	}
	write(object{"id": p["id"], "error": failure(err)})
}

func failure(err error) object {
	e, fields := &threadkeep.Error{Message: err.Error()}, []string{}
	typed := errors.As(err, &e)
	for _, violation := range e.Violations {
		fields = append(fields, violation.Field)
	}
	return object{"reason": e.Reason, "message": e.Message, "fields": fields,
		"code": pick(typed, code.Code(e.Code).String(), "USAGE"), "metadata": maps.Collect(maps.All(e.Metadata)),
		"retry_after_ms": pick[any](e.RetryAfter > 0, e.RetryAfter.Milliseconds(), nil)}
}

func perform(ctx context.Context, client *threadkeep.Client, target context.CancelFunc, p object, failed error) (object, error) {
	rpc := "/threadkeep.v1." + pick(p["rpc"] != nil, text(p, "rpc"), "-/GetSession") // any RPC, where it is not used
	types, name := protoregistry.GlobalTypes, "threadkeep.v1."+path.Base(rpc)
	in := decode(must(types.FindMessageByURL(name+"Request")).New().Interface(), p["request"])
	out := must(types.FindMessageByURL(name + "Response")).New().Interface()
	ref, strategy := decode(&pb.SessionRef{}, p["session"]), decode(&pb.CompactionStrategy{}, p["strategy"])
	session := pick(ref.GetApp()+ref.GetUserId() == "", client.Session(ref.GetSessionId()), client.SessionOf(ref))
	if named, ok := in.(interface{ GetSession() *pb.SessionRef }); ok {
		session = client.SessionOf(named.GetSession())
	}
	var events []*threadkeep.Event
	for _, event := range get[[]any](p, "events") {
		events = append(events, decode(&threadkeep.Event{}, event))
	}
	version, _ := json.Number(text(p, "expected_log_version")).Int64()
	options := given(p, map[string]threadkeep.AppendOption{"create": threadkeep.WithCreateIfMissing(),
		"ignore_existing": threadkeep.IgnoreExisting(), "replace_existing": threadkeep.ReplaceExisting(),
		"operation_id": threadkeep.WithOperationID(text(p, "operation_id")), "expected_log_version": threadkeep.Expect(threadkeep.LogVersion(version)),
		"expected_last_event_id": threadkeep.Expect(threadkeep.LastEventID(text(p, "expected_last_event_id")))})
	options = append(options, changes(decode(&pb.StateDelta{}, p["state_delta"]))...)
	seen := decode(&pb.GetContextResponse{}, p["context"])
	summarize := func(context.Context, *pb.SummaryPrompt) (string, error) { return text(p, "summary"), nil }
	return map[string]func() (object, error){ // lists and feeds are selected by their RPC, everything else by its op
		"hello":   func() (object, error) { return object{"language": "go", "version": threadkeep.Version}, nil },
		"connect": func() (object, error) { return object{}, failed },
		"cancel":  func() (object, error) { target(); return object{}, nil },
		"close":   func() (object, error) { return object{}, client.Close() },
		"build":   func() (object, error) { return object{"event": encode(build(text(p, "builder"), p["args"]))}, nil },
		"append":  func() (object, error) { return appended(session.Append(ctx, events, options...)) },
		"context": func() (object, error) { return reply(session.GetContext(ctx, memory(p)...)) },
		"compact": func() (object, error) { return reply(session.Compact(ctx, threadkeep.WithStrategy(strategy))) },
		"compact_with": func() (object, error) {
			return reply(session.CompactWith(ctx, summarize, threadkeep.WithStrategy(strategy)))
		},
		"compact_context":  func() (object, error) { return reply(session.CompactContext(ctx, seen, text(p, "summary"))) },
		"method":           func() (object, error) { return reply(method(ctx, client, in)) },
		"call":             func() (object, error) { return reply(out, client.Conn().Invoke(ctx, rpc, in, out)) },
		"ListSessions":     func() (object, error) { return list(p, client.Sessions(ctx, sessionsOptions(in, p)...)) },
		"SearchEvents":     func() (object, error) { return list(p, search(ctx, client, in, p)) },
		"ListEvents":       func() (object, error) { return list(p, session.Events(ctx, eventsOptions(in)...)) },
		"ListCompactions":  func() (object, error) { return list(p, session.Compactions(ctx, pageOf(in))) },
		"ListMemories":     func() (object, error) { return list(p, client.Memory().List(ctx, memoriesOptions(in)...)) },
		"ListBranches":     func() (object, error) { return list(p, session.Branches(ctx, pageOf(in))) },
		"ListUsage":        func() (object, error) { return list(p, session.Usage(ctx, pageOf(in))) },
		"ListUsers":        func() (object, error) { return list(p, client.Users(ctx, usersOptions(in)...)) },
		"ListAuditRecords": func() (object, error) { return list(p, client.AuditRecords(ctx, auditOptions(in)...)) },
		"ListUserEvents":   func() (object, error) { return list(p, client.UserEvents(ctx, userEventsOptions(in)...)) },
		"ListMemoryNamespaces": func() (object, error) {
			return list(p, namespaces(client.Memory().Namespaces(ctx, namespacesOptions(in)...)))
		},
		"append_stream": func() (object, error) { return appendStream(ctx, session, p) },
		"provided":      func() (object, error) { return provided(ctx, session, p, events) },
		"consume":       func() (object, error) { return consume(ctx, client, p) },
		"WatchSession":  func() (object, error) { return list(p, session.Watch(ctx, watchOptions(in, p)...)) },
		"WatchAll":      func() (object, error) { return list(p, client.WatchAll(ctx, watchAllOptions(in, p)...)) },
	}[pick(p["op"] == "pages" || p["op"] == "watch", path.Base(rpc), text(p, "op"))]()
}

func list[M proto.Message](p object, all func(func(M, error) bool)) (object, error) {
	found := [][]byte{} // for pages; the changes of a watch are sent immediately
	for item, err := range all {
		if err != nil {
			return nil, err
		} else if p["op"] == "watch" {
			write(object{"id": p["id"], "item": encode(item)})
		} else if found = append(found, encode(item)); p["limit"] == float64(len(found)) {
			break
		}
	}
	return object{"items": found}, nil
}

func appended(a *threadkeep.Appended, err error) (object, error) {
	if err != nil {
		return nil, err
	}
	return reply(a.AppendEventsResponse, nil)
}

func memory(p object) []threadkeep.MemoryProvider {
	if p["spec"] == nil {
		return nil
	}
	return []threadkeep.MemoryProvider{threadkeep.Custom(decode(&pb.ContextSpec{}, p["spec"]))}
}

func given[O any](p object, options map[string]O) []O {
	maps.DeleteFunc(options, func(name string, _ O) bool { return p[name] == nil || p[name] == false })
	return slices.Collect(maps.Values(options)) // those whose names the request contains
}

func decode[M proto.Message](m M, packed any) M {
	data, given := packed.(string) // without it the message is nil
	return pick(given, must(m, proto.Unmarshal(must(base64.StdEncoding.DecodeString(data)), m)), *new(M))
}

type object = map[string]any

func encode(m proto.Message) []byte                    { return must(proto.MarshalOptions{}.MarshalAppend([]byte{}, m)) }
func reply(m proto.Message, err error) (object, error) { return object{"response": encode(m)}, err }
func write(line object)                                { must(line, json.NewEncoder(os.Stdout).Encode(line)) }
func get[T any](p any, name string) (value T)          { value, _ = p.(object)[name].(T); return value }
func text(p any, name string) string                   { return get[string](p, name) }
func pick[T any](first bool, a, b T) T                 { return map[bool]T{true: a, false: b}[first] }
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
