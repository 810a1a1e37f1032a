package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"gocloud.dev/blob"

	"github.com/pulumi/pulumi/pkg/v3/backend/diy"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/pkg/v3/secrets"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// cancelGrace is the time in which a canceled operation can save its state before it is ended by force.
const cancelGrace = 10 * time.Second

// server answers requests on a unix socket.
type server struct {
	folder  string
	project *workspace.Project
	backend diy.Backend
	// bucket contains the objects that the backend stores.
	bucket  *blob.Bucket
	secrets secrets.Manager
	host    plugin.Host
	logs    *logRouter
	pool    *pool

	guard      sync.Mutex
	operations int
	// running contains the operations that run now. updating contains those that change their stack.
	running    map[*operation]struct{}
	updating   map[string]*operation
	isStopping bool
	idle       sync.WaitGroup
}

// listen creates the socket. Only the user of this process can connect to it.
func listen(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return listener, os.Chmod(path, 0o600)
}

// serve accepts connections until the listener is closed.
func (s *server) serve(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go s.handle(connection)
	}
}

func (s *server) handle(connection net.Conn) {
	defer connection.Close()
	lines := bufio.NewReader(connection)
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return
	}
	var received request
	if err := json.Unmarshal(line, &received); err != nil {
		reply(connection, answer{ErrorKind: errorInvalid, Error: err.Error()})
		return
	}
	switch received.Operation {
	case opStatus:
		reply(connection, answer{Status: s.status()})
	case opEvict:
		s.pool.retireAll(nil)
		reply(connection, answer{})
	case opUp, opPreview, opRefresh, opDestroy:
		reply(connection, s.operate(received, lines))
	default:
		reply(connection, answer{ErrorKind: errorInvalid, Error: fmt.Sprintf("unknown operation %q", received.Operation)})
	}
}

func reply(connection net.Conn, result answer) {
	if err := json.NewEncoder(connection).Encode(result); err != nil {
		slog.Warn("answer not delivered", "error", err)
	}
}

// operate runs one operation. Meanwhile, it follows the client's requests to cancel the operation.
func (s *server) operate(received request, lines *bufio.Reader) answer {
	if err := received.Program.validate(); err != nil {
		return answer{ErrorKind: errorInvalid, Error: err.Error()}
	}
	o := newOperation(s, received)
	if kind, problem := s.begin(o); kind != "" {
		return answer{ErrorKind: kind, Error: problem}
	}
	defer s.end(o)
	go o.follow(lines)
	return o.run()
}

// follow reads the client's lines until the client closes the connection. If the client closes the connection before
// the operation has ended, follow cancels the operation.
func (o *operation) follow(lines *bufio.Reader) {
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			o.cancel.Cancel()
			return
		}
		switch strings.TrimSpace(line) {
		case lineCancel:
			o.cancel.Cancel()
		case lineTerminate:
			o.terminate()
		}
	}
}

// begin records the start of an operation. If the operation cannot start, it returns an error kind and a message. For
// example, only one operation at a time can change a stack. The lock in the backend does not ensure this for two
// operations of the same process.
func (s *server) begin(o *operation) (kind, problem string) {
	s.guard.Lock()
	defer s.guard.Unlock()
	if s.isStopping {
		return errorNotAccepted, "the engine is stopping"
	}
	if o.request.Operation != opPreview {
		if s.updating[o.request.Stack] != nil {
			return errorBusy, "another operation on this stack is running"
		}
		s.updating[o.request.Stack] = o
	}
	s.running[o] = struct{}{}
	s.operations++
	s.idle.Add(1)
	return "", ""
}

func (s *server) end(o *operation) {
	s.guard.Lock()
	defer s.guard.Unlock()
	delete(s.running, o)
	if s.updating[o.request.Stack] == o {
		delete(s.updating, o.request.Stack)
	}
	s.idle.Done()
}

// stop rejects new operations. The returned channel is closed when the running ones have ended.
func (s *server) stop() <-chan struct{} {
	s.guard.Lock()
	defer s.guard.Unlock()
	s.isStopping = true
	ended := make(chan struct{})
	go func() {
		s.idle.Wait()
		close(ended)
	}()
	return ended
}

// cancelAll cancels the running operations: first gracefully, then by force.
func (s *server) cancelAll() {
	s.guard.Lock()
	defer s.guard.Unlock()
	for o := range s.running {
		o.cancel.Cancel()
		time.AfterFunc(cancelGrace, o.terminate)
	}
}

func (s *server) status() *status {
	s.guard.Lock()
	defer s.guard.Unlock()
	stacks := slices.Sorted(maps.Keys(s.updating))
	return &status{
		Operations: s.operations, Running: stacks, Providers: s.pool.count(), Goroutines: runtime.NumGoroutine(),
	}
}
