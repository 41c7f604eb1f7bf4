package eino_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/compose"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/integrations/eino"
	"github.com/threadkeep/threadkeep-go/internal/adaptertest"
)

func TestCheckPointsOfEveryIDComeBackAndAreReplaced(t *testing.T) {
	ctx, store := context.Background(), eino.NewCheckPointStore(adaptertest.Client(t))
	for _, id := range []string{"run", "", "a\nb", strings.Repeat("é", 200), "sha256:x", "bad \xff"} {
		if _, found, err := store.Get(ctx, id); found || err != nil {
			t.Fatalf("%q: %v %v", id, found, err)
		}
		for _, content := range [][]byte{{0, 1, 255}, []byte("again" + id), {}} {
			check(t, store.Set(ctx, id, content))
			read, found, err := store.Get(ctx, id)
			check(t, err)
			equal(t, found, true)
			equal(t, string(read), string(content))
		}
	}
}

func TestCheckPointsStayInTheirSessionAndUser(t *testing.T) {
	ctx, client := context.Background(), adaptertest.Client(t)
	one := eino.NewCheckPointStore(client, eino.InSession("one"), eino.CreatedWith(threadkeep.WithLabels(map[string]string{"a": "b"})))
	check(t, one.Set(ctx, "run", []byte("1")))
	if _, found, err := eino.NewCheckPointStore(client).Get(ctx, "run"); found || err != nil {
		t.Fatal(found, err)
	}
	equal(t, must(client.Session("one").Get(ctx)).GetLabels(), map[string]string{"a": "b"})
	check(t, eino.NewCheckPointStore(client).Set(ctx, "run", []byte("2")))
	equal(t, must(client.Session("eino-checkpoints").Get(ctx)).GetExpireTime() == nil, true)
}

func TestDeletedCheckPointIsGoneAndCanBeSetAgain(t *testing.T) {
	ctx, store := context.Background(), eino.NewCheckPointStore(adaptertest.Client(t))
	equal(t, must(store.Delete(ctx, "run")), false)
	check(t, store.Set(ctx, "run", []byte("1")))
	equal(t, must(store.Delete(ctx, "run")), true)
	if _, found, err := store.Get(ctx, "run"); found || err != nil {
		t.Fatal(found, err)
	}
	equal(t, must(store.Delete(ctx, "run")), false)
	check(t, store.Set(ctx, "run", []byte("2")))
	content, _, err := store.Get(ctx, "run")
	check(t, err)
	equal(t, string(content), "2")
}

func TestConcurrentCheckPointsAreAllStored(t *testing.T) {
	ctx, store := context.Background(), eino.NewCheckPointStore(adaptertest.Client(t))
	var writers sync.WaitGroup
	for i := range 16 {
		writers.Add(1)
		go func() {
			defer writers.Done()
			if err := store.Set(ctx, "run "+string(rune('a'+i)), []byte{byte(i)}); err != nil {
				t.Error(err)
			}
		}()
	}
	writers.Wait()
	for i := range 16 {
		content, found, err := store.Get(ctx, "run "+string(rune('a'+i)))
		check(t, err)
		equal(t, found, true)
		equal(t, content, []byte{byte(i)})
	}
}

// graphOf returns a graph that is interrupted between its two nodes.
func graphOf(t *testing.T, client *threadkeep.Client, ran *[]string) compose.Runnable[string, string] {
	t.Helper()
	graph := compose.NewGraph[string, string]()
	for _, name := range []string{"plan", "book"} {
		check(t, graph.AddLambdaNode(name, compose.InvokableLambda(func(_ context.Context, input string) (string, error) {
			*ran = append(*ran, name)
			return input + " " + name, nil
		})))
	}
	check(t, graph.AddEdge(compose.START, "plan"))
	check(t, graph.AddEdge("plan", "book"))
	check(t, graph.AddEdge("book", compose.END))
	return must(graph.Compile(context.Background(), compose.WithInterruptBeforeNodes([]string{"book"}),
		compose.WithCheckPointStore(eino.NewCheckPointStore(client))))
}

func TestInterruptedGraphResumesAfterTheServerWasKilled(t *testing.T) {
	server := adaptertest.NewKillable(t)
	ctx, client := context.Background(), server.Client()
	var ran []string
	_, err := graphOf(t, client, &ran).Invoke(ctx, "trip:", compose.WithCheckPointID("run"), compose.WithWriteToCheckPointID("fork"))
	if _, interrupted := compose.ExtractInterruptInfo(err); !interrupted {
		t.Fatal(err)
	}
	server.Kill()
	check(t, server.Start())
	output, err := graphOf(t, client, &ran).Invoke(ctx, "", compose.WithCheckPointID("fork"))
	check(t, err)
	equal(t, output, "trip: plan book")
	equal(t, ran, []string{"plan", "book"})
	if _, found, _ := eino.NewCheckPointStore(client).Get(ctx, "run"); found {
		t.Fatal("the checkpoint was written under the id that was only read")
	}
}
