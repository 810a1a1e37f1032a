package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
	// cancel cancels the operation gracefully, or ends it by force.
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

// terminate ends the operation by force. A provider may still be working on the operation, so later operations do not
// use the process of this provider.
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
		// Ends the goroutines that wait until the scope is canceled.
		o.cancel.Terminate()
		o.server.logs.forget(o)
		o.server.pool.release(o)
	}()
	err := o.apply(&result)
	if err == nil {
		result.Version = o.updateNumber()
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
		return result.withEvents(func(events chan<- engine.Event) (err error) {
			result.Counts, err = backend.UpdateStack(ctx, target, update, events)
			return err
		})
	case opPreview:
		return result.withEvents(func(events chan<- engine.Event) (err error) {
			_, result.Counts, err = backend.PreviewStack(ctx, target, update, events)
			return err
		})
	case opRefresh:
		return result.withEventLog(o.server.folder, &update, func() (err error) {
			if err = clearPendingCreates(ctx, target); err == nil {
				result.Counts, err = backend.RefreshStack(ctx, target, update)
			}
			return err
		})
	case opDestroy:
		return result.withEventLog(o.server.folder, &update, func() (err error) {
			if result.Counts, err = backend.DestroyStack(ctx, target, update); err == nil {
				_, err = backend.RemoveStack(ctx, target, false /*force*/, true /*removeBackups*/)
			}
			return err
		})
	}
	return fmt.Errorf("unknown operation %q", o.request.Operation)
}

// updateNumber returns the number of the update that has just succeeded. It returns 0 if the operation is not in the
// history of the stack, or if the history cannot be read. The latter is no error, because the update has succeeded.
func (o *operation) updateNumber() int {
	if o.request.Operation != opUp && o.request.Operation != opRefresh {
		return 0
	}
	stored := history{o.server.bucket, string(o.server.project.Name), o.request.Stack}
	number, err := stored.newestNumber(context.Background())
	if err != nil {
		slog.Warn("number of the update unknown", "stack", o.request.Stack, "error", err)
		return 0
	}
	return number
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
