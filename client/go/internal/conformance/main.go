// The conformance driver: see tests/conformance/README.md of the repository. What is malformed in a request panics.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/protobuf/proto"

	"github.com/recollect-dev/recollect-go"
)

// request is a line: the parameters of every operation. Bytes travel as base64, which encoding/json does by itself.
type request struct {
	ID, Target                       int64
	Op, Client, Address, App, Token  string
	RPC, Summary, Builder            string
	Request, Session, Spec, Strategy []byte
	Events                           [][]byte
	Create, Checkpoints              bool
	Limit                            int
	Args                             args
	UserID                           string  `json:"user_id"`
	Timeout                          int64   `json:"timeout_ms"`
	IgnoreExisting                   bool    `json:"ignore_existing"`
	LogVersion                       *int64  `json:"expected_log_version,string"`
	LastEventID                      *string `json:"expected_last_event_id"`
	MaxRetries                       *int    `json:"max_retries"`
}

type object map[string]any

var clients, cancels sync.Map
var writing sync.Mutex

func main() {
	for lines := bufio.NewReader(os.Stdin); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return // the end of input, and with it of what is under way
		}
		r := &request{}
		must(json.Unmarshal(line, r))
		ctx, cancel := context.WithCancel(context.Background())
		cancels.Store(r.ID, cancel)
		go func() {
			defer cancels.Delete(r.ID)
			defer cancel()
			if answer, err := r.perform(ctx); err != nil {
				write(object{"id": r.ID, "error": describe(err)})
			} else {
				write(object{"id": r.ID, "ok": answer})
			}
		}()
	}
}

func write(line object) {
	writing.Lock()
	defer writing.Unlock()
	must(json.NewEncoder(os.Stdout).Encode(line))
}

func (r *request) perform(ctx context.Context) (any, error) {
	if r.Timeout > 0 && r.Op != "connect" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.Timeout)*time.Millisecond)
		defer cancel()
	}
	var client *recollect.Client
	if known, ok := clients.Load(r.Client); ok {
		client = known.(*recollect.Client)
	}
	switch r.Op {
	case "hello":
		return object{"language": "go", "version": recollect.Version}, nil
	case "connect":
		return object{}, r.connect()
	case "close":
		return object{}, client.Close()
	case "cancel":
		if cancel, ok := cancels.Load(r.Target); ok {
			cancel.(context.CancelFunc)()
		}
		return object{}, nil
	case "build":
		return object{"event": encode(r.Args.build(r.Builder))}, nil
	case "call":
		in, out := messagesOf(r.RPC)
		must(proto.Unmarshal(r.Request, in))
		return response(out, client.Conn().Invoke(ctx, "/recollect.v1."+r.RPC, in, out))
	case "pages":
		return r.pages(ctx, client)
	case "watch":
		for change, err := range r.watch(ctx, client) {
			if errors.Is(err, context.Canceled) {
				break
			} else if err != nil {
				return nil, err
			}
			write(object{"id": r.ID, "item": encode(change)})
		}
		return object{}, nil
	}
	session := client.SessionOf(parse[recollect.SessionRef](r.Session))
	if ref := session.Ref(); ref.App == "" && ref.UserId == "" {
		session = client.Session(ref.SessionId)
	}
	switch strategy := parse[recollect.CompactionStrategy](r.Strategy); r.Op {
	case "append":
		return r.append(ctx, session)
	case "context":
		return response(session.Context(ctx, parse[recollect.ContextSpec](r.Spec)))
	case "compact":
		return response(session.Compact(ctx, strategy))
	case "compact_with":
		summarise := func(context.Context, *recollect.SummaryPrompt) (string, error) { return r.Summary, nil }
		return response(session.CompactWith(ctx, summarise, strategy))
	}
	panic("no operation " + r.Op)
}

func (r *request) connect() error {
	opts := []recollect.Option{recollect.WithApp(r.App), recollect.WithUser(r.UserID), recollect.WithToken(r.Token)}
	if r.Timeout > 0 {
		opts = append(opts, recollect.WithTimeout(time.Duration(r.Timeout)*time.Millisecond))
	}
	client, err := recollect.New(r.Address, opts...)
	if old, again := clients.Swap(r.Client, client); again {
		must(old.(*recollect.Client).Close())
	}
	return err
}

func describe(err error) object {
	e, fields := &recollect.Error{}, []string{}
	if !errors.As(err, &e) {
		return object{"code": "USAGE", "reason": "", "message": err.Error(), "metadata": object{}, "fields": fields, "retry_after_ms": nil}
	}
	for _, violation := range e.Fields {
		fields = append(fields, violation.Field)
	}
	answer := object{"code": code.Code_name[int32(e.Code)], "reason": e.Reason, "message": e.Message, "fields": fields,
		"metadata": e.Metadata, "retry_after_ms": nil}
	if e.Metadata == nil {
		answer["metadata"] = object{}
	}
	if e.RetryAfter != nil {
		answer["retry_after_ms"] = float64(e.RetryAfter.Microseconds()) / 1000
	}
	return answer
}
