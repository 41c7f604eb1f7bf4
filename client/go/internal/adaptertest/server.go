// Package adaptertest has what the tests of adapters share: clients of the server under test, and a server to kill.
package adaptertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/threadkeep/threadkeep-go"
)

// Client returns a client of the server under test, THREADKEEP_TEST_ADDRESS, with an app of its own.
func Client(t *testing.T) *threadkeep.Client {
	t.Helper()
	address := os.Getenv("THREADKEEP_TEST_ADDRESS")
	if address == "" {
		t.Skip("THREADKEEP_TEST_ADDRESS names no server")
	}
	return clientOf(t, address)
}

func clientOf(t *testing.T, address string) *threadkeep.Client {
	t.Helper()
	client, err := threadkeep.New(threadkeep.Config{Address: address, App: "go-" + threadkeep.NewEventID(), UserID: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// Killable is a server of a test's own, of the program THREADKEEP_TEST_PROGRAM, on SQLite in a folder that survives it.
type Killable struct {
	t       *testing.T
	address string
	folder  string
	process *exec.Cmd
}

// NewKillable starts a server.
func NewKillable(t *testing.T) *Killable {
	t.Helper()
	if os.Getenv("THREADKEEP_TEST_PROGRAM") == "" {
		t.Skip("THREADKEEP_TEST_PROGRAM names no server program")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &Killable{t: t, address: free.Addr().String(), folder: t.TempDir()}
	free.Close()
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	return server
}

// Client returns a client of the server.
func (s *Killable) Client() *threadkeep.Client { return clientOf(s.t, s.address) }

// Start starts the server, and returns when it serves.
func (s *Killable) Start() error {
	s.process = exec.Command(os.Getenv("THREADKEEP_TEST_PROGRAM"), "serve", "--grpc-address", s.address, "--http-address", "",
		"--data-dir", s.folder, "--log-format", "text")
	output, err := s.process.StderrPipe()
	if err != nil {
		return err
	}
	s.process.Stdout = s.process.Stderr
	if err := s.process.Start(); err != nil {
		return err
	}
	serving := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(output)
		var said []string
		for lines.Scan() {
			said = append(said, lines.Text())
			if strings.Contains(lines.Text(), "serving gRPC") {
				serving <- nil
				io.Copy(io.Discard, output)
				return
			}
		}
		serving <- fmt.Errorf("the server ended: %s", strings.Join(said, "\n"))
	}()
	select {
	case err := <-serving:
		return err
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("the server did not start in two minutes")
	}
}

// Kill kills the server, which has no time to end anything.
func (s *Killable) Kill() {
	if s.process != nil {
		s.process.Process.Kill()
		s.process.Wait()
		s.process = nil
		// What stands in for the program in the short form ends a moment before it.
		for s.listens() {
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func (s *Killable) listens() bool {
	connection, err := net.Dial("tcp", s.address)
	if err != nil {
		return false
	}
	connection.Close()
	return true
}
