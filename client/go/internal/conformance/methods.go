package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync/atomic"

	"github.com/threadkeep/threadkeep-go"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
	"google.golang.org/protobuf/proto"
)

// method calls the SDK's own method for the RPC of a request.
func method(ctx context.Context, client *threadkeep.Client, in proto.Message) (proto.Message, error) {
	switch r := in.(type) {
	case *pb.PopEventsRequest:
		return client.SessionOf(r.GetSession()).Pop(ctx, int(r.GetCount()), popOptions(r)...)
	case *pb.ClearEventsRequest:
		opts := []threadkeep.ClearOption{threadkeep.WithOperationID(r.GetOperationId())}
		if r.ExpectedLogVersion != nil {
			opts = append(opts, threadkeep.Expect(threadkeep.LogVersion(r.GetExpectedLogVersion())))
		}
		if r.GetMode() == pb.RemovalMode_REMOVAL_MODE_ERASE {
			opts = append(opts, threadkeep.EraseRemoved())
		}
		return client.SessionOf(r.GetSession()).Clear(ctx, opts...)
	case *pb.EraseEventsRequest:
		opts := []threadkeep.EraseEventsOption{threadkeep.WithOperationID(r.GetOperationId())}
		if r.ExpectedLogVersion != nil {
			opts = append(opts, threadkeep.Expect(threadkeep.LogVersion(r.GetExpectedLogVersion())))
		}
		if r.GetBranch() != "" {
			opts = append(opts, threadkeep.WithBranch(r.GetBranch()))
		}
		opts = append(opts, threadkeep.OfInvocations(r.GetInvocationIds()...))
		return client.SessionOf(r.GetSession()).EraseEvents(ctx, r.GetEventIds(), opts...)
	case *pb.RewindSessionRequest:
		return rewound(ctx, client, r)
	case *pb.MoveSessionRequest:
		return client.SessionOf(r.GetSession()).Move(ctx, r.GetNewUserId(), threadkeep.WithOperationID(r.GetOperationId()))
	case *pb.LoadSessionRequest:
		opts := []threadkeep.LoadOption{threadkeep.WithStateScopes(r.GetStateScopes()...), threadkeep.WithPageSize(int(r.GetPageSize()))}
		if r.GetExcludeEvents() {
			opts = append(opts, threadkeep.WithoutEvents())
		}
		if r.GetWithNewestEvent() {
			opts = append(opts, threadkeep.WithNewestEvent())
		}
		return client.SessionOf(r.GetSession()).Load(ctx, opts...)
	case *pb.ForkSessionRequest:
		return client.SessionOf(r.GetSession()).Fork(ctx, r.GetNewSessionId(), forkOptions(r)...)
	case *pb.UpdateSessionRequest:
		session, err := client.SessionOf(r.GetSession()).Update(ctx, threadkeep.SetLabels(r.GetSetLabels()),
			threadkeep.WithETag(r.GetEtag()), threadkeep.WithOperationID(r.GetOperationId()))
		return &pb.UpdateSessionResponse{Session: session}, err
	case *pb.ListSessionsRequest:
		return client.SessionsPage(ctx, sessionsOptions(r, nil)...)
	case *pb.ReplaceSuffixRequest:
		session := client.SessionOf(r.GetSession())
		return session.ReplaceSuffix(ctx, r.GetExpectedEventIds(), r.GetEvents(), suffixOptions(r)...)
	case *pb.GetStateRequest:
		return stateOf(ctx, client, r)
	case *pb.PatchStateRequest:
		return patched(ctx, client, r)
	case *pb.UpsertMemoriesRequest:
		opts := []threadkeep.UpsertOption{}
		if r.GetIfExists() == pb.IfMemoryExists_IF_MEMORY_EXISTS_IGNORE {
			opts = append(opts, threadkeep.KeepExisting())
		}
		return client.Memory().Upsert(ctx, r.GetWrites(), opts...)
	case *pb.GetMemoriesRequest:
		return lookups(ctx, client, r)
	}
	return nil, fmt.Errorf("no method takes a %T", in)
}

// pointOf returns the point of a request; nil for none.
func pointOf(in proto.Message) threadkeep.Point {
	r := in.ProtoReflect()
	field := r.WhichOneof(r.Descriptor().Oneofs().ByName("point"))
	if field == nil {
		return nil
	}
	switch at := r.Get(field); field.Name() {
	case "at_seq":
		return threadkeep.Seq(at.Int())
	case "at_event_id":
		return threadkeep.EventID(at.String())
	case "at_invocation_id":
		return threadkeep.InvocationID(at.String())
	default:
		return threadkeep.LogVersion(at.Int())
	}
}

func forkOptions(r *pb.ForkSessionRequest) []threadkeep.ForkOption {
	opts := []threadkeep.ForkOption{threadkeep.WithOperationID(r.GetOperationId()), threadkeep.WithLabels(r.GetLabels()), threadkeep.At(pointOf(r))}
	if r.GetWithoutParentLabels() {
		opts = append(opts, threadkeep.WithoutParentLabels())
	}
	if r.MetadataJson != nil {
		opts = append(opts, threadkeep.WithMetadata(r.GetMetadataJson()))
	}
	return opts
}

func rewound(ctx context.Context, client *threadkeep.Client, r *pb.RewindSessionRequest) (proto.Message, error) {
	opts := []threadkeep.RewindOption{threadkeep.WithOperationID(r.GetOperationId())}
	if r.ExpectedLogVersion != nil {
		opts = append(opts, threadkeep.Expect(threadkeep.LogVersion(r.GetExpectedLogVersion())))
	}
	if r.GetMode() == pb.RemovalMode_REMOVAL_MODE_ERASE {
		opts = append(opts, threadkeep.EraseRemoved())
	}
	return client.SessionOf(r.GetSession()).Rewind(ctx, pointOf(r), opts...)
}

func popOptions(r *pb.PopEventsRequest) []threadkeep.PopOption {
	opts := []threadkeep.PopOption{threadkeep.WithOperationID(r.GetOperationId())}
	if r.Branch != nil {
		opts = append(opts, threadkeep.WithBranch(r.GetBranch()))
	}
	if r.ExpectedLogVersion != nil {
		opts = append(opts, threadkeep.Expect(threadkeep.LogVersion(r.GetExpectedLogVersion())))
	}
	if r.GetMode() == pb.RemovalMode_REMOVAL_MODE_ERASE {
		opts = append(opts, threadkeep.EraseRemoved())
	}
	return opts
}

func suffixOptions(r *pb.ReplaceSuffixRequest) []threadkeep.SuffixOption {
	opts := []threadkeep.SuffixOption{threadkeep.WithOperationID(r.GetOperationId())}
	if r.Branch != nil {
		opts = append(opts, threadkeep.WithBranch(r.GetBranch()))
	}
	if r.GetMode() == pb.RemovalMode_REMOVAL_MODE_ERASE {
		opts = append(opts, threadkeep.EraseRemoved())
	}
	return opts
}

func handleOf(client *threadkeep.Client, scope pb.StateScope, ref *pb.SessionRef) *threadkeep.StateHandle {
	switch scope {
	case pb.StateScope_STATE_SCOPE_USER:
		return client.UserState(threadkeep.WithApp(ref.GetApp()), threadkeep.WithUser(ref.GetUserId()))
	case pb.StateScope_STATE_SCOPE_APP:
		return client.AppState(threadkeep.WithApp(ref.GetApp()))
	}
	return client.SessionOf(ref).State()
}

func stateOf(ctx context.Context, client *threadkeep.Client, r *pb.GetStateRequest) (proto.Message, error) {
	opts := []threadkeep.StateOption{threadkeep.WithKeys(r.GetKeys()...), threadkeep.WithKeyPrefix(r.GetKeyPrefix())}
	if r.AsOfLogVersion != nil {
		opts = append(opts, threadkeep.AsOfLogVersion(threadkeep.LogVersion(r.GetAsOfLogVersion())))
	}
	state, err := handleOf(client, r.GetScope(), r.GetSession()).Get(ctx, opts...)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for key, text := range state.Values {
		values[key] = string(text)
	}
	return &pb.GetStateResponse{State: &pb.State{Values: values, Version: int64(state.Version)}}, nil
}

// rawOf returns the values of a patch as they are sent.
func rawOf(patch *pb.StatePatch) map[string]any {
	values := map[string]any{}
	for key, text := range patch.GetSet() {
		values[key] = json.RawMessage(text)
	}
	return values
}

func patched(ctx context.Context, client *threadkeep.Client, r *pb.PatchStateRequest) (proto.Message, error) {
	opts := []threadkeep.PatchOption{threadkeep.RemoveKeys(r.GetPatch().GetRemove()...)}
	if r.ExpectedVersion != nil {
		opts = append(opts, threadkeep.Expect(threadkeep.StateVersion(r.GetExpectedVersion())))
	}
	version, err := handleOf(client, r.GetScope(), r.GetSession()).Patch(ctx, rawOf(r.GetPatch()), opts...)
	return &pb.PatchStateResponse{Version: int64(version)}, err
}

// changes returns the options of an append that change state.
func changes(delta *pb.StateDelta) (opts []threadkeep.AppendOption) {
	if patch := delta.GetSession(); patch != nil {
		opts = append(opts, threadkeep.ChangeState(rawOf(patch), patch.GetRemove()...))
	}
	if patch := delta.GetUser(); patch != nil {
		opts = append(opts, threadkeep.ChangeUserState(rawOf(patch), patch.GetRemove()...))
	}
	if patch := delta.GetApp(); patch != nil {
		opts = append(opts, threadkeep.ChangeAppState(rawOf(patch), patch.GetRemove()...))
	}
	return opts
}

func lookups(ctx context.Context, client *threadkeep.Client, r *pb.GetMemoriesRequest) (proto.Message, error) {
	var opts []threadkeep.LookupOption
	if r.GetRefreshTtl() {
		opts = append(opts, threadkeep.RefreshTTL())
	}
	entries, err := client.Memory().GetMany(ctx, r.GetNames(), opts...)
	found := &pb.GetMemoriesResponse{}
	for i, entry := range entries {
		found.Memories = append(found.Memories, &pb.MemoryLookup{Name: r.GetNames()[i], Entry: entry})
	}
	return found, err
}

func userEventsOptions(in proto.Message) []threadkeep.UserEventsOption {
	r := in.(*pb.ListUserEventsRequest)
	opts := []threadkeep.UserEventsOption{threadkeep.WithRawFilter(r.GetFilter()), pageOf(r)}
	for _, option := range scopeOf(r, r.App != nil, nil) {
		opts = append(opts, option)
	}
	return opts
}

func namespacesOptions(in proto.Message) []threadkeep.NamespacesOption {
	r := in.(*pb.ListMemoryNamespacesRequest)
	return []threadkeep.NamespacesOption{threadkeep.WithNamespacePrefix(r.GetPrefix()...), pageOf(r),
		threadkeep.WithNamespaceSuffix(r.GetSuffix()...), threadkeep.WithMaxDepth(int(r.GetMaxDepth()))}
}

func namespaces(all iter.Seq2[[]string, error]) iter.Seq2[*pb.MemoryNamespace, error] {
	return func(yield func(*pb.MemoryNamespace, error) bool) {
		for labels, err := range all {
			if !yield(&pb.MemoryNamespace{Labels: labels}, err) {
				return
			}
		}
	}
}

// consume works for a consumer until it is canceled. The handler parks and fails what the request says, and writes the others.
func consume(ctx context.Context, client *threadkeep.Client, p object) (object, error) {
	var failed atomic.Bool
	handle := func(_ context.Context, d *threadkeep.Delivery) error {
		if events := d.Change.GetBatch().GetEvents(); len(events) > 0 {
			switch said := threadkeep.TextOf(events[0]); {
			case p["park"] == said:
				return threadkeep.Park("as requested")
			case p["fail"] == said && !failed.Swap(true):
				return errors.New("as requested")
			}
		}
		write(object{"id": p["id"], "item": encode(d.Change)})
		return nil
	}
	options := given(p, map[string]threadkeep.ConsumeOption{"from_beginning": threadkeep.FromOldest(),
		"max_attempts": threadkeep.WithMaxAttempts(int(get[float64](p, "max_attempts")))})
	return object{}, client.Consumer(text(p, "name")).Run(ctx, handle, options...)
}

// appendStream appends the batches of a request by one stream.
func appendStream(ctx context.Context, session *threadkeep.SessionHandle, p object) (object, error) {
	results := []object{}
	batches := func(yield func([]*threadkeep.Event) bool) {
		for _, batch := range get[[]any](p, "batches") {
			var events []*threadkeep.Event
			for _, event := range batch.([]any) {
				events = append(events, decode(&threadkeep.Event{}, event))
			}
			if !yield(events) {
				return
			}
		}
	}
	for result, err := range session.AppendStream(ctx, batches) {
		switch {
		case err != nil:
			return nil, err
		case result.Err != nil:
			results = append(results, object{"error": failure(result.Err)})
		default:
			results = append(results, object{"response": encode(result.Appended.AppendEventsResponse)})
		}
	}
	return object{"results": results}, nil
}

// provided appends and reads as a memory provider says.
func provided(ctx context.Context, session *threadkeep.SessionHandle, p object, events []*threadkeep.Event) (object, error) {
	providers := map[string]threadkeep.MemoryProvider{"limited_window": threadkeep.LimitedWindow(), "none": threadkeep.None(),
		"read_only": threadkeep.ReadOnly(), "write_only": threadkeep.WriteOnly()}
	own := session.WithMemory(providers[text(p, "provider")])
	appended, err := own.Append(ctx, threadkeep.Events(events...))
	if err != nil {
		return nil, err
	}
	seen, err := own.GetContext(ctx)
	if err != nil {
		return nil, err
	}
	return object{"response": encode(seen), "log_version": fmt.Sprint(appended.GetLogVersion())}, nil
}
