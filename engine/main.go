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
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/version"
)

var discard = diag.DefaultSink(io.Discard, io.Discard, diag.FormatOptions{Color: colors.Never})

// commands are the commands that end when they are done. They need no watcher.
var commands = map[string]func([]string) error{
	"prune":   pruneCommand,
	"objects": objectsCommand,
	"copy":    copyCommand,
	"rekey":   rekeyCommand,
}

func main() {
	if err := runCommand(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func runCommand(arguments []string) error {
	if len(arguments) == 1 && arguments[0] == "--version" {
		fmt.Println(version.Version)
		return nil
	}
	if len(arguments) > 0 && commands[arguments[0]] != nil {
		return commands[arguments[0]](arguments[1:])
	}
	socket := flag.String("socket", "", "absolute path of the unix socket")
	project := flag.String("project", "", "name of the Pulumi project")
	flag.Parse()
	return run(*socket, *project)
}

func run(socket, project string) error {
	// The watcher reads only one line of the standard output. Pulumi prints to the standard output, too.
	output := os.Stdout
	os.Stdout = os.Stderr
	s, err := newServer(socket, project)
	if err != nil {
		return err
	}
	terminated, _ := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	// The watcher cancels operations itself. A terminal sends Ctrl-C to all processes.
	signal.Ignore(syscall.SIGINT)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	// Only the user of this process can connect.
	if err := os.Chmod(socket, 0o600); err != nil {
		return err
	}
	go s.serve(listener)
	// This line says that the engine accepts connections.
	if err := json.NewEncoder(output).Encode(map[string]string{"version": version.Version}); err != nil {
		return err
	}
	// The standard input is closed when the watcher process exits.
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(closed)
	}()
	select {
	case <-terminated.Done():
		debug.FreeOSMemory() // for the new engine process
	case <-closed:
	}
	listener.Close()
	ended := s.stop()
	select {
	case <-ended:
	case <-closed:
		// The connections are closed, too. So the operations are being canceled, and must end within this time.
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
		}
	}
	s.pool.retire(allProcesses)
	return nil
}
