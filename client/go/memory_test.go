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

	"github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// remembering is a server that records requests and responds to the first calls with Unavailable.
type remembering struct {
	threadkeepv1.UnimplementedMemoryServiceServer
	threadkeepv1.UnimplementedToolServiceServer
	added  []*threadkeepv1.AddMemoriesRequest
	others []proto.Message
	away   int
}

func (r *remembering) AddMemories(
	_ context.Context, request *threadkeepv1.AddMemoriesRequest,
) (*threadkeepv1.AddMemoriesResponse, error) {
	if r.added = append(r.added, request); len(r.added) <= r.away {
		return nil, status.Error(codes.Unavailable, "not now")
	}
	return &threadkeepv1.AddMemoriesResponse{}, nil
}

func (r *remembering) AddSessionToMemory(
	_ context.Context, request *threadkeepv1.AddSessionToMemoryRequest,
) (*threadkeepv1.AddSessionToMemoryResponse, error) {
	r.others = append(r.others, request)
	return &threadkeepv1.AddSessionToMemoryResponse{Added: 2}, nil
}

func (r *remembering) SearchMemory(
	_ context.Context, request *threadkeepv1.SearchMemoryRequest,
) (*threadkeepv1.SearchMemoryResponse, error) {
	r.others = append(r.others, request)
	return &threadkeepv1.SearchMemoryResponse{}, nil
}

func (r *remembering) ListMemories(
	_ context.Context, request *threadkeepv1.ListMemoriesRequest,
) (*threadkeepv1.ListMemoriesResponse, error) {
	r.others = append(r.others, request)
	if request.GetPageToken() == "" {
		return &threadkeepv1.ListMemoriesResponse{Entries: []*MemoryEntry{Remember("one")}, NextPageToken: "more"}, nil
	}
	return &threadkeepv1.ListMemoriesResponse{Entries: []*MemoryEntry{Remember("two")}}, nil
}

func (r *remembering) DeleteMemories(
	_ context.Context, request *threadkeepv1.DeleteMemoriesRequest,
) (*threadkeepv1.DeleteMemoriesResponse, error) {
	r.others = append(r.others, request)
	return &threadkeepv1.DeleteMemoriesResponse{Deleted: 1}, nil
}

func (r *remembering) CallTool(_ context.Context, request *threadkeepv1.CallToolRequest) (*threadkeepv1.CallToolResponse, error) {
	return &threadkeepv1.CallToolResponse{ResultJson: request.GetName()}, nil
}

func (r *remembering) serve(t *testing.T) *Client {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	threadkeepv1.RegisterMemoryServiceServer(server, r)
	threadkeepv1.RegisterToolServiceServer(server, r)
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
	if TextOfMemory(sent[0]) != "Likes tea." || sent[0].GetContent().GetRole() != threadkeepv1.Role_ROLE_USER {
		t.Error(sent[0])
	}
}

func TestMemoryReplacesTheScopeOfRequests(t *testing.T) {
	server := &remembering{}
	client, ctx := server.serve(t), t.Context()
	other := client.MemoryOf(&threadkeepv1.MemoryScope{App: "other", UserId: "bob"})
	requested := &threadkeepv1.SearchMemoryRequest{Query: "tea", Scope: &threadkeepv1.MemoryScope{UserId: "eve"}}
	_, err := other.AddSession(ctx, "s1", &threadkeepv1.AddSessionToMemoryRequest{IncludeTools: true})
	_, failed := other.Search(ctx, requested)
	_, refused := other.Delete(ctx, &threadkeepv1.DeleteMemoriesRequest{Selection: &threadkeepv1.DeleteMemoriesRequest_All{All: true}})
	if err != nil || failed != nil || refused != nil || requested.Scope.UserId != "eve" {
		t.Fatal(err, failed, refused, requested)
	}
	if session := server.others[0].(*threadkeepv1.AddSessionToMemoryRequest); session.Session.SessionId != "s1" ||
		session.Session.App != "other" || session.Session.UserId != "bob" || !session.IncludeTools {
		t.Error(session)
	}
	for _, request := range server.others[1:] {
		scope := request.(interface {
			GetScope() *threadkeepv1.MemoryScope
		}).GetScope()
		if scope.GetApp() != "other" || scope.GetUserId() != "bob" {
			t.Error(request)
		}
	}
	if _, err := client.Memory().AddSession(ctx, "s1", nil); err != nil {
		t.Fatal(err)
	}
	if ref := server.others[3].(*threadkeepv1.AddSessionToMemoryRequest).Session; ref.App != "shop" || ref.UserId != "alice" {
		t.Error(ref)
	}
}

func TestMemoriesAreListedPageByPage(t *testing.T) {
	server := &remembering{}
	var texts []string
	for entry, err := range server.serve(t).Memory().List(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, TextOfMemory(entry))
	}
	if fmt.Sprint(texts) != "[one two]" || len(server.others) != 2 {
		t.Error(texts, server.others)
	}
}

func TestToolsAreCalledLikeAnyMethod(t *testing.T) {
	request := &threadkeepv1.CallToolRequest{Name: "load_memory"}
	answer, err := (&remembering{}).serve(t).Tools.CallTool(t.Context(), request)
	if err != nil || answer.GetResultJson() != "load_memory" {
		t.Error(answer, err)
	}
}
