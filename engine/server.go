package main

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"gocloud.dev/blob"

	"github.com/pulumi/pulumi/pkg/v3/backend/diy"
	"github.com/pulumi/pulumi/pkg/v3/secrets"
	"github.com/pulumi/pulumi/pkg/v3/secrets/passphrase"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// server answers requests on a unix socket.
type server struct {
	folder  string
	project *workspace.Project
	backend diy.Backend
	// bucket contains the objects that the backend stores.
	bucket *blob.Bucket
	// secrets encrypts secrets in the state. The key is derived from the passphrase and the salt once, in 0.2 s.
	secrets secrets.Manager
	pool    *pool

	guard      sync.Mutex
	running    map[*operation]struct{}
	isStopping bool
	idle       sync.WaitGroup
}

// newServer creates a server. It stores temporary files beside the socket.
func newServer(socket, project string) (*server, error) {
	ctx := context.Background()
	s := &server{
		folder: filepath.Dir(socket),
		project: &workspace.Project{
			Name:    tokens.PackageName(project),
			Runtime: workspace.NewProjectRuntimeInfo("python", nil),
		},
		running: map[*operation]struct{}{},
	}
	var err error
	if s.backend, s.bucket, err = openBackend(ctx, os.Getenv("PULUMI_BACKEND_URL"), s.project); err != nil {
		return nil, err
	}
	// Pulumi reads the passphrase from the same environment variables as the CLI. With the salt, others could guess the
	// passphrase, so the salt is not on the command line.
	stack := &workspace.ProjectStack{EncryptionSalt: os.Getenv("TENANCY_ENGINE_SALT")}
	if s.secrets, err = passphrase.NewPromptingPassphraseSecretsManager(stack, false); err != nil {
		return nil, err
	}
	s.pool, err = newPool(ctx, s.folder)
	return s, err
}

// serve accepts connections until the listener is closed.
func (s *server) serve(listener net.Listener) {
	for {
		connection, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer connection.Close()
			if err := json.NewEncoder(connection).Encode(s.answer(connection)); err != nil {
				slog.Warn("answer not delivered", "error", err)
			}
		}()
	}
}

// answer executes the request of the client.
func (s *server) answer(client io.Reader) answer {
	var received request
	err := json.NewDecoder(client).Decode(&received)
	if err == nil {
		err = received.validate()
	}
	if err != nil {
		return answer{ErrorKind: errorInvalid, Error: err.Error()}
	}
	switch received.Operation {
	case opStatus:
		return answer{Status: s.status()}
	case opEvict:
		s.pool.retire(allProcesses)
		return answer{}
	}
	o := newOperation(s, received)
	if kind, problem := s.begin(o); kind != "" {
		return answer{ErrorKind: kind, Error: problem}
	}
	defer s.end(o)
	go o.follow(client)
	return o.run()
}

// follow waits until the client ends its side of the connection. If the operation is still running, follow cancels it:
// first gracefully, then by force.
func (o *operation) follow(client io.Reader) {
	_, _ = io.Copy(io.Discard, client)
	if o.scope.TerminateErr() == nil {
		o.cancel.Cancel()
		time.AfterFunc(time.Duration(o.request.GraceSeconds*float64(time.Second)), o.terminate)
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
	for other := range s.running {
		if o.isUpdate() && other.isUpdate() && o.request.Stack == other.request.Stack {
			return errorBusy, "another operation on this stack is running"
		}
	}
	s.running[o] = struct{}{}
	s.idle.Add(1)
	return "", ""
}

func (s *server) end(o *operation) {
	s.guard.Lock()
	defer s.guard.Unlock()
	delete(s.running, o)
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

func (s *server) status() *status {
	s.guard.Lock()
	defer s.guard.Unlock()
	result := &status{Goroutines: runtime.NumGoroutine()}
	for o := range s.running {
		if o.isUpdate() {
			result.Running = append(result.Running, o.request.Stack)
		}
	}
	return result
}
