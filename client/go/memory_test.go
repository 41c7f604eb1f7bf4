package threadkeep

import (
	"context"
	"fmt"
	"net"
	"testing"

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
