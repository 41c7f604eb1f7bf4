package main

import (
	"context"
	"iter"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/recollect-dev/recollect-go"
	"github.com/recollect-dev/recollect-go/recollect/v1"
)

func (r *request) append(ctx context.Context, session *recollect.Session) (any, error) {
	var opts []recollect.AppendOption
	if r.Create {
		opts = append(opts, recollect.Create())
	}
	if r.IgnoreExisting {
		opts = append(opts, recollect.IgnoreExisting())
	}
	if r.LogVersion != nil {
		opts = append(opts, recollect.ExpectLogVersion(*r.LogVersion))
	}
	if r.LastEventID != nil {
		opts = append(opts, recollect.ExpectLastEventID(*r.LastEventID))
	}
	var events []*recollect.Event
	for _, data := range r.Events {
		events = append(events, parse[recollect.Event](data))
	}
	return response(session.Append(ctx, events, opts...))
}

func (r *request) pages(ctx context.Context, client *recollect.Client) (any, error) {
	switch r.RPC {
	case "SessionService/ListSessions":
		return items(client.ListSessions(ctx, parse[recollectv1.ListSessionsRequest](r.Request)), r.Limit)
	case "RecallService/SearchEvents":
		return items(client.Search(ctx, parse[recollectv1.SearchEventsRequest](r.Request)), r.Limit)
	case "CompactionService/ListCompactions":
		request := parse[recollectv1.ListCompactionsRequest](r.Request)
		return items(client.SessionOf(request.Session).Compactions(ctx, request), r.Limit)
	}
	request := parse[recollectv1.ListEventsRequest](r.Request)
	return items(client.SessionOf(request.Session).Events(ctx, request), r.Limit)
}

func items[M proto.Message](all iter.Seq2[M, error], limit int) (any, error) {
	found := [][]byte{}
	for item, err := range all {
		if err != nil {
			return nil, err
		}
		if found = append(found, encode(item)); len(found) == limit {
			break
		}
	}
	return object{"items": found}, nil
}

func (r *request) watch(ctx context.Context, client *recollect.Client) iter.Seq2[*recollect.Change, error] {
	var opts []recollect.WatchOption
	if r.Checkpoints {
		opts = append(opts, recollect.Checkpoints())
	}
	if r.MaxRetries != nil {
		opts = append(opts, recollect.MaxRetries(*r.MaxRetries))
	}
	if strings.HasSuffix(r.RPC, "/WatchAll") {
		request := parse[recollectv1.WatchAllRequest](r.Request)
		switch start := request.Start.(type) {
		case *recollectv1.WatchAllRequest_ResumeToken:
			opts = append(opts, recollect.ResumeAfter(start.ResumeToken))
		case *recollectv1.WatchAllRequest_FromBeginning:
			opts = append(opts, recollect.FromBeginning())
		}
		return client.Watch(ctx, request.Scope, append(opts, recollect.Filtered(request.Filter))...)
	}
	request := parse[recollectv1.WatchSessionRequest](r.Request)
	switch start := request.Start.(type) {
	case *recollectv1.WatchSessionRequest_ResumeToken:
		opts = append(opts, recollect.ResumeAfter(start.ResumeToken))
	case *recollectv1.WatchSessionRequest_AfterSeq:
		opts = append(opts, recollect.AfterSeq(start.AfterSeq))
	}
	return client.SessionOf(request.Session).Watch(ctx, append(opts, recollect.Filtered(request.Filter))...)
}

// args are those of a builder.
type args struct {
	Text, Author, Name string
	JSON               *string
	CallID             string `json:"call_id"`
	IsError            bool   `json:"is_error"`
	Calls              []struct {
		ID, Name  string
		Arguments string `json:"arguments_json"`
	}
}

func (a args) build(builder string) (event *recollect.Event) {
	switch builder {
	case "user":
		event = recollect.User(a.Text)
	case "assistant":
		event = recollect.Assistant(a.Text)
	case "system":
		event = recollect.System(a.Text)
	case "assistant_calls":
		var calls []*recollect.Part
		for _, call := range a.Calls {
			calls = append(calls, recollect.ToolCall(call.ID, call.Name, call.Arguments))
		}
		event = recollect.AssistantCalls(a.Text, calls...)
	case "tool_result":
		if event = recollect.ToolResult(a.CallID, a.Name, a.Text); a.JSON != nil {
			event = recollect.ToolResultJSON(a.CallID, a.Name, *a.JSON)
		}
		if a.IsError {
			event = recollect.AsError(event)
		}
	}
	event.Author = a.Author
	return event
}

func messagesOf(rpc string) (in, out proto.Message) {
	service, name, _ := strings.Cut(rpc, "/")
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName("recollect.v1." + service))
	must(err)
	method := found.(protoreflect.ServiceDescriptor).Methods().ByName(protoreflect.Name(name))
	input, err := protoregistry.GlobalTypes.FindMessageByName(method.Input().FullName())
	must(err)
	output, err := protoregistry.GlobalTypes.FindMessageByName(method.Output().FullName())
	must(err)
	return input.New().Interface(), output.New().Interface()
}

// parse is the message; nil for none.
func parse[T any, M interface {
	*T
	proto.Message
}](data []byte) M {
	if data == nil {
		return nil
	}
	m := M(new(T))
	must(proto.Unmarshal(data, m))
	return m
}

func encode(m proto.Message) []byte {
	data, err := proto.MarshalOptions{}.MarshalAppend([]byte{}, m) // not nil, which would be null
	must(err)
	return data
}

func response[M proto.Message](m M, err error) (any, error) {
	return object{"response": encode(m)}, err
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
