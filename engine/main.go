// The engine runs operations on Pulumi stacks for the watcher: up, preview, refresh and destroy.
//
// It keeps Pulumi's engine and the Kubernetes providers running, so that an operation does not start processes. It
// reads and writes the state, the history and the locks in the format of the Pulumi CLI. The backend, the passphrase
// and the credentials of the cluster come from the environment variables that the CLI uses.
//
// The engine ends when its standard input is closed. After SIGTERM, it finishes the running operations first.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/version"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

var discard = diag.DefaultSink(io.Discard, io.Discard, diag.FormatOptions{Color: colors.Never})

// ready is the line that the engine prints when it accepts connections.
type ready struct {
	Version string `json:"version"`
}

// commands are the commands that end when they are done. They need no watcher.
var commands = map[string]func([]string) error{
	"prune":   pruneCommand,
	"objects": objectsCommand,
	"copy":    copyCommand,
	"rekey":   rekeyCommand,
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(version.Version)
		return
	}
	if len(os.Args) > 1 && commands[os.Args[1]] != nil {
		exit(commands[os.Args[1]](os.Args[2:]))
	}
	socket := flag.String("socket", "", "path of the unix socket")
	project := flag.String("project", "", "name of the Pulumi project")
	flag.Parse()
	exit(run(*socket, *project, os.Getenv(saltVariable)))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(socket, project, salt string) error {
	// Pulumi prints to the standard output, which nobody reads after the first line.
	output := os.Stdout
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	os.Stdout = null
	folder, err := filepath.Abs(filepath.Dir(socket))
	if err != nil {
		return err
	}
	// Pulumi looks for a Pulumi.yaml in the working folder and its parents.
	if err := os.Chdir("/"); err != nil {
		return err
	}
	s, err := newServer(folder, project, salt)
	if err != nil {
		return err
	}
	listener, err := listen(filepath.Join(folder, filepath.Base(socket)))
	if err != nil {
		return err
	}
	go s.serve(listener)
	if err := json.NewEncoder(output).Encode(ready{version.Version}); err != nil {
		return err
	}
	closed := requestedEnd()
	listener.Close()
	ended := s.stop()
	select {
	case <-ended:
	case <-closed:
		// The watcher process has exited, so nobody else cancels an operation that hangs.
		s.cancelAll()
		select {
		case <-ended:
		case <-time.After(2 * cancelGrace):
		}
	}
	s.pool.retireAll(nil)
	return nil
}

func newServer(folder, project, salt string) (*server, error) {
	ctx := context.Background()
	definition := &workspace.Project{
		Name:    tokens.PackageName(project),
		Runtime: workspace.NewProjectRuntimeInfo("python", nil),
	}
	logs := &logRouter{Sink: discard, sinks: map[*operation]diag.Sink{}}
	unlocking := &unlockRetry{Sink: discard}
	backend, bucket, err := openBackend(ctx, unlocking, os.Getenv("PULUMI_BACKEND_URL"), definition)
	if err != nil {
		return nil, err
	}
	unlocking.backend = backend.(unlocker)
	secretsManager, err := secretsManager(salt)
	if err != nil {
		return nil, err
	}
	host, err := newSharedHost(ctx, logs)
	if err != nil {
		return nil, err
	}
	providers, err := newPool(ctx, host, folder)
	if err != nil {
		return nil, err
	}
	return &server{
		folder: folder, project: definition, backend: backend, bucket: bucket, secrets: secretsManager, host: host,
		logs: logs, pool: providers, running: map[*operation]struct{}{}, updating: map[string]*operation{},
	}, nil
}

// requestedEnd waits until this process receives SIGTERM, or until its standard input is closed. When the watcher
// process exits, the standard input is closed, and then the returned channel is closed too.
func requestedEnd() <-chan struct{} {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	// The watcher cancels operations itself. A terminal sends Ctrl-C to all processes.
	signal.Ignore(syscall.SIGINT)
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	select {
	case <-signals:
		slog.Info("finishing the running operations")
	case <-closed:
	}
	return closed
}
