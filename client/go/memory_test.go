package threadkeep

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// remembering is a server that records requests and responds to the first calls with Unavailable.
type remembering struct {
	pb.UnimplementedMemoryServiceServer
	pb.UnimplementedToolServiceServer
	added  []*pb.AddMemoriesRequest
	others []proto.Message
	away   int
}

func (r *remembering) AddMemories(
	_ context.Context, request *pb.AddMemoriesRequest,
) (*pb.AddMemoriesResponse, error) {
	if r.added = append(r.added, request); len(r.added) <= r.away {
		return nil, status.Error(codes.Unavailable, "not now")
	}
	return &pb.AddMemoriesResponse{}, nil
}

func (r *remembering) AddSessionToMemory(
	_ context.Context, request *pb.AddSessionToMemoryRequest,
) (*pb.AddSessionToMemoryResponse, error) {
	r.others = append(r.others, request)
	return &pb.AddSessionToMemoryResponse{Added: 2}, nil
}

func (r *remembering) SearchMemory(
	_ context.Context, request *pb.SearchMemoryRequest,
) (*pb.SearchMemoryResponse, error) {
	r.others = append(r.others, request)
	return &pb.SearchMemoryResponse{}, nil
}

func (r *remembering) ListMemories(
	_ context.Context, request *pb.ListMemoriesRequest,
) (*pb.ListMemoriesResponse, error) {
	r.others = append(r.others, request)
	if request.GetPageToken() == "" {
		return &pb.ListMemoriesResponse{Entries: []*MemoryEntry{Remember("one")}, NextPageToken: "more"}, nil
	}
	return &pb.ListMemoriesResponse{Entries: []*MemoryEntry{Remember("two")}}, nil
}

func (r *remembering) DeleteMemories(
	_ context.Context, request *pb.DeleteMemoriesRequest,
) (*pb.DeleteMemoriesResponse, error) {
	r.others = append(r.others, request)
	return &pb.DeleteMemoriesResponse{Deleted: 1}, nil
}

func (r *remembering) CallTool(_ context.Context, request *pb.CallToolRequest) (*pb.CallToolResponse, error) {
	return &pb.CallToolResponse{ResultJson: request.GetName() + " " + request.GetArgumentsJson()}, nil
}

func (r *remembering) serve(t *testing.T) *Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	pb.RegisterMemoryServiceServer(server, r)
	pb.RegisterToolServiceServer(server, r)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return connected(t, listener.Addr().String())
}

func TestMemoriesAreRetriedWithTheSameIDs(t *testing.T) {
	server := &remembering{away: 2}
	given, named := Remember("Likes tea."), Remember("Likes tea.")
	named.Id, named.Author = "mine", "ada"
	if _, err := server.serve(t).Memory().Add(t.Context(), given, named); err != nil {
		t.Fatal(err)
	}
	if len(server.added) != 3 || !proto.Equal(server.added[0], server.added[2]) {
		t.Fatal(server.added)
	}
	sent := server.added[0].GetMemories()
	if given.Id != "" || len(sent[0].GetId()) != 36 || sent[1].GetId() != "mine" || sent[1].GetAuthor() != "ada" {
		t.Error(given, sent)
	}
	if TextOfMemory(sent[0]) != "Likes tea." || sent[0].GetContent().GetRole() != pb.Role_ROLE_USER {
		t.Error(sent[0])
	}
}

func TestMemoryIsOfItsScope(t *testing.T) {
	server := &remembering{}
	client, ctx := server.serve(t), t.Context()
	other := client.Memory(WithApp("other"), WithUser("bob"))
	_, err := other.AddSession(ctx, "s1", IngestTools())
	_, failed := other.Search(ctx, "tea", Ranked(), WithTopK(3), WithMemoryFilter(MemoryFilter{Authors: []string{"ada"}}))
	_, refused := other.DeleteAll(ctx)
	if err != nil || failed != nil || refused != nil {
		t.Fatal(err, failed, refused)
	}
	if r := server.others[1].(*pb.SearchMemoryRequest); r.GetMode() != pb.SearchMode_SEARCH_MODE_RANKED || r.GetTopK() != 3 || r.GetFilter().GetAuthors()[0] != "ada" {
		t.Error(r)
	}
	if session := server.others[0].(*pb.AddSessionToMemoryRequest); session.Session.SessionId != "s1" ||
		session.Session.App != "other" || session.Session.UserId != "bob" || !session.IncludeTools {
		t.Error(session)
	}
	for _, request := range server.others[1:] {
		scope := request.(interface {
			GetScope() *pb.MemoryScope
		}).GetScope()
		if scope.GetApp() != "other" || scope.GetUserId() != "bob" {
			t.Error(request)
		}
	}
	if _, err := client.Memory().AddSession(ctx, "s1"); err != nil {
		t.Fatal(err)
	}
	if ref := server.others[3].(*pb.AddSessionToMemoryRequest).Session; ref.App != "shop" || ref.UserId != "alice" {
		t.Error(ref)
	}
}

func TestMemoriesAreListedPageByPage(t *testing.T) {
	server := &remembering{}
	var texts []string
	for entry, err := range server.serve(t).Memory().List(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, TextOfMemory(entry))
	}
	if fmt.Sprint(texts) != "[one two]" || len(server.others) != 2 {
		t.Error(texts, server.others)
	}
}

func TestCallToolSendsValuesAsJSON(t *testing.T) {
	answer, err := (&remembering{}).serve(t).Session("s1").CallTool(t.Context(), "load_memory", map[string]any{"query": "tea"})
	if err != nil || answer.GetResultJson() != `load_memory {"query":"tea"}` {
		t.Error(answer, err)
	}
}

func TestUpsertsAreOfTheScopeAndHaveIDs(t *testing.T) {
	server, client := record(t)
	memory, ctx := client.Memory(), t.Context()
	seat := Remember("Window seat.", WithMemoryID("seat"), InNamespace("prefs"), KeepFor(time.Second))
	if _, err := memory.Upsert(ctx, append(Writes(seat), WriteIf(Remember("Tea.", WithMemoryID("tea")), "")), KeepExisting()); err != nil {
		t.Fatal(err)
	}
	const scope = `scope: {app: "shop" user_id: "alice"} `
	same(t, "upsert", scope+`if_exists: IF_MEMORY_EXISTS_IGNORE
		writes: {memory: {id: "seat" namespace: "prefs" ttl: {seconds: 1} content: {role: ROLE_USER parts: {text: "Window seat."}}}}
		writes: {memory: {id: "tea" content: {role: ROLE_USER parts: {text: "Tea."}}} expected_etag: ""}`, server.last())
	named := Remember("One.")
	if _, err := memory.Upsert(ctx, Writes(named)); err != nil {
		t.Fatal(err)
	}
	if sent := server.last().(*pb.UpsertMemoriesRequest).GetWrites()[0]; len(sent.GetMemory().GetId()) != 36 || named.Id != "" {
		t.Error(sent, named)
	}
	for want, call := range map[string]func() error{
		`names: {names: {id: "m" namespace: "a"}}`: func() error { _, err := memory.DeleteNames(ctx, MemoryName("m", "a")); return err },
		`namespace: {labels: "a" labels: "b"}`:     func() error { _, err := memory.DeleteNamespace(ctx, "a", "b"); return err },
	} {
		if err := call(); err != nil {
			t.Error(err)
		}
		same(t, want, scope+want, server.last())
	}
	conditions := MemoryFilter{Conditions: []MemoryCondition{{"n", GreaterOrEqual, 2}, {"c", OneOf, []string{"red"}}}, Namespace: []string{"a"}}
	if _, err := memory.ListPage(ctx, WithMemoryFilter(conditions), RefreshTTL()); err != nil {
		t.Error(err)
	}
	same(t, "list", scope+`filter: {namespace_prefix: "a" conditions: {key: "n" operator: METADATA_OPERATOR_GREATER_OR_EQUAL value_json: "2"}
		conditions: {key: "c" operator: METADATA_OPERATOR_IN value_json: "[\"red\"]"}} refresh_ttl: true`, server.last())
	wrong := WithMemoryFilter(MemoryFilter{Conditions: []MemoryCondition{{"n", Equal, func() {}}}})
	if _, err := memory.Search(ctx, "tea", wrong); err == nil {
		t.Error("a function is no JSON value")
	}
}

func TestLookupsRepeatForWhatIsOmitted(t *testing.T) {
	server, client := record(t)
	server.answers = []proto.Message{
		&pb.GetMemoriesResponse{Memories: []*pb.MemoryLookup{{Entry: Remember("one")}, {}, {Omitted: true}}},
		&pb.GetMemoriesResponse{Memories: []*pb.MemoryLookup{{Entry: Remember("three")}}},
		&pb.GetMemoriesResponse{Memories: []*pb.MemoryLookup{{}}},
		&pb.GetMemoriesResponse{Memories: []*pb.MemoryLookup{{Omitted: true}}},
	}
	memory := client.Memory()
	entries, err := memory.GetMany(t.Context(), []*pb.MemoryName{MemoryName("1"), MemoryName("2"), MemoryName("3", "a")}, RefreshTTL())
	if err != nil || len(entries) != 3 || entries[1] != nil || TextOfMemory(entries[2]) != "three" {
		t.Fatal(entries, err)
	}
	same(t, "rest", `scope: {app: "shop" user_id: "alice"} names: {id: "3" namespace: "a"} refresh_ttl: true`, server.last())
	if entry, found, err := memory.Get(t.Context(), "4", InNamespace("b")); entry != nil || found || err != nil {
		t.Error(entry, found, err)
	}
	if _, _, err := memory.Get(t.Context(), "5"); err == nil {
		t.Error("a server that omits the first entry never ends")
	}
}

func TestNamespacesAreListedPageByPage(t *testing.T) {
	server, client := record(t)
	server.answers = []proto.Message{
		&pb.ListMemoryNamespacesResponse{Namespaces: []*pb.MemoryNamespace{{}}, NextPageToken: "more"},
		&pb.ListMemoryNamespacesResponse{Namespaces: []*pb.MemoryNamespace{{Labels: []string{"a", "b"}}}},
	}
	var found [][]string
	for labels, err := range client.Memory().Namespaces(t.Context(), WithNamespacePrefix("a"), WithNamespaceSuffix("*"), WithMaxDepth(2)) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, labels)
	}
	if fmt.Sprint(found) != "[[] [a b]]" {
		t.Error(found)
	}
	same(t, "namespaces", `scope: {app: "shop" user_id: "alice"} prefix: "a" suffix: "*" max_depth: 2 page_token: "more"`, server.last())
}
