package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/backend"
	"github.com/pulumi/pulumi/pkg/v3/backend/backenderr"
	"github.com/pulumi/pulumi/pkg/v3/backend/display"
	"github.com/pulumi/pulumi/pkg/v3/backend/secrets"
	"github.com/pulumi/pulumi/pkg/v3/engine"
	pkgresource "github.com/pulumi/pulumi/pkg/v3/resource"
	"github.com/pulumi/pulumi/pkg/v3/resource/stack"
	"github.com/pulumi/pulumi/pkg/v3/util/cancel"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/config"
)

var (
	// unreachable is part of the provider's error if it could not reach the cluster when it was configured. The
	// provider then refuses all later requests.
	unreachable = regexp.MustCompile("configured Kubernetes cluster is unreachable")
	// providerEnded is part of the error of a request to a provider whose process has ended.
	providerEnded = regexp.MustCompile("error reading from server|(transport|connection) is closing|connection error: desc")
)

// operation is one running operation on a stack.
type operation struct {
	server  *server
	request request
	// cancel requests the end of the operation: first gracefully, then by force.
	cancel *cancel.Source
	scope  *cancel.Context
}

func newOperation(s *server, r request) *operation {
	scope, source := cancel.NewContext(context.Background())
	return &operation{server: s, request: r, cancel: source, scope: scope}
}

// NewScope returns the scope in which the engine runs the operation. It makes `operation` a
// backend.CancellationScopeSource.
func (o *operation) NewScope(context.Context, chan<- engine.Event, bool) backend.CancellationScope {
	return operationScope{o}
}

type operationScope struct{ operation *operation }

func (s operationScope) Context() *cancel.Context { return s.operation.scope }

func (operationScope) Close() {}

// terminate ends the operation by force. A provider may continue to work on it, so its process is not used again.
func (o *operation) terminate() {
	o.server.pool.retireAll(o)
	o.cancel.Terminate()
}

// run runs the operation, and returns its answer.
func (o *operation) run() (result answer) {
	defer func() {
		if failure := recover(); failure != nil {
			result.ErrorKind = errorEngineCrashed
			result.Error = fmt.Sprintf("panic: %v", failure)
			slog.Error(result.Error, "stack", o.request.Stack, "trace", string(debug.Stack()))
		}
		// Ends the goroutines that wait for the end of the scope.
		o.cancel.Terminate()
		o.server.logs.forget(o)
		o.server.pool.release(o)
	}()
	err := o.apply(&result)
	if err == nil {
		return result
	}
	result.Error = err.Error()
	switch {
	case errors.Is(err, errNoStack):
		result.ErrorKind = errorNoStack
	case errors.Is(err, context.Canceled) || o.scope.CancelErr() != nil:
		result.ErrorKind = errorCanceled
	default:
		result.ErrorKind = errorFailed
	}
	text := strings.Join(append(result.Diagnostics, result.Error), "\n")
	if providerEnded.MatchString(text) && result.ErrorKind == errorFailed {
		result.ErrorKind = errorProviderEnded
	}
	if unreachable.MatchString(text) || result.ErrorKind == errorProviderEnded {
		o.server.pool.retireAll(o)
	}
	return result
}

var errNoStack = errors.New("no stack named this found")

// apply runs the operation with the backend, and adds the events of the engine to the result.
func (o *operation) apply(result *answer) error {
	ctx := context.Background()
	reference, err := o.server.backend.ParseStackReference(o.request.Stack)
	if err != nil {
		return err
	}
	target, err := o.server.backend.GetStack(ctx, reference)
	if err != nil {
		return err
	}
	if target == nil && o.request.Operation == opUp {
		target, err = o.server.backend.CreateStack(ctx, reference, o.server.folder, nil, nil)
		var exists *backenderr.StackAlreadyExistsError
		if errors.As(err, &exists) {
			target, err = o.server.backend.GetStack(ctx, reference)
		}
		if err != nil {
			return err
		}
	}
	if target == nil {
		return fmt.Errorf("no stack named %q found: %w", o.request.Stack, errNoStack)
	}
	update, err := o.updateOperation()
	if err != nil {
		return err
	}
	switch o.request.Operation {
	case opUp:
		return withEvents(result, func(events chan<- engine.Event) error {
			_, err := backend.UpdateStack(ctx, target, update, events)
			return err
		})
	case opPreview:
		return withEvents(result, func(events chan<- engine.Event) error {
			_, _, err := backend.PreviewStack(ctx, target, update, events)
			return err
		})
	case opRefresh:
		return o.withEventLog(result, &update, func() error {
			if err := clearPendingCreates(ctx, target); err != nil {
				return err
			}
			_, err := backend.RefreshStack(ctx, target, update)
			return err
		})
	case opDestroy:
		return o.withEventLog(result, &update, func() error {
			if _, err := backend.DestroyStack(ctx, target, update); err != nil {
				return err
			}
			_, err := backend.RemoveStack(ctx, target, false /*force*/, true /*removeBackups*/)
			return err
		})
	}
	return fmt.Errorf("unknown operation %q", o.request.Operation)
}

// updateOperation returns the settings with which the CLI would run the operation.
func (o *operation) updateOperation() (backend.UpdateOperation, error) {
	configuration := config.Map{}
	for name, value := range o.request.Config {
		key, err := config.ParseKey(name)
		if err != nil {
			return backend.UpdateOperation{}, err
		}
		configuration[key] = config.NewValue(value)
	}
	secretsManager := o.server.secrets
	return backend.UpdateOperation{
		Proj: o.server.project,
		Root: o.server.folder,
		M: &backend.UpdateMetadata{
			Message:     o.request.Message,
			Environment: map[string]string{backend.ExecutionKind: "auto.inline"},
		},
		Opts: backend.UpdateOptions{
			Engine: engine.UpdateOptions{
				Parallel:             int32(runtime.GOMAXPROCS(0)) * 4,
				Refresh:              o.request.Refresh,
				HostFactory:          o.hostFactory(),
				SkipPluginPreInstall: true,
			},
			// With this display, Pulumi only drains the events.
			Display: display.Options{
				Color: colors.Never, SummaryJSON: true, SuppressPermalink: true, Stdout: io.Discard,
			},
			AutoApprove: true,
			SkipPreview: true,
		},
		StackConfiguration: backend.StackConfiguration{Config: configuration, Decrypter: secretsManager.Decrypter()},
		SecretsManager:     secretsManager,
		SecretsProvider:    secrets.DefaultProvider,
		Scopes:             o,
	}, nil
}

// withEvents runs the function with a channel for events, and adds all events to the result.
func withEvents(result *answer, run func(chan<- engine.Event) error) error {
	events := make(chan engine.Event)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range events {
			if !event.Internal() {
				result.addEvent(event)
			}
		}
	}()
	err := run(events)
	close(events)
	<-done
	return err
}

// withEventLog runs the function with an event log in a file, and adds all events to the result. Pulumi has no
// event channel for `refresh` and `destroy`.
func (o *operation) withEventLog(result *answer, update *backend.UpdateOperation, run func() error) error {
	file, err := os.CreateTemp(o.server.folder, "events-*")
	if err != nil {
		return err
	}
	path := filepath.Clean(file.Name())
	defer os.Remove(path)
	if err := file.Close(); err != nil {
		return err
	}
	update.Opts.Display.EventLogPath = path
	runError := run()
	if err := result.addEventFile(path); err != nil && runError == nil {
		return err
	}
	return runError
}

// clearPendingCreates removes pending creates from the state. The refresh that follows does not know whether these
// objects exist. The next `up` adopts them.
func clearPendingCreates(ctx context.Context, target backend.Stack) error {
	snapshot, err := target.Snapshot(ctx, secrets.DefaultProvider)
	if err != nil || snapshot == nil {
		return err
	}
	kept := make([]pkgresource.Operation, 0, len(snapshot.PendingOperations))
	for _, pending := range snapshot.PendingOperations {
		if pending.Type != pkgresource.OperationTypeCreating {
			kept = append(kept, pending)
		}
	}
	if len(kept) == len(snapshot.PendingOperations) {
		return nil
	}
	snapshot.PendingOperations = kept
	deployment, err := stack.SerializeUntypedDeployment(ctx, snapshot, nil)
	if err != nil {
		return err
	}
	return backend.ImportStackDeployment(ctx, target, deployment)
}
