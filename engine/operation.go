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
	"slices"
	"strings"

	"github.com/pulumi/pulumi/pkg/v3/backend"
	"github.com/pulumi/pulumi/pkg/v3/backend/display"
	"github.com/pulumi/pulumi/pkg/v3/backend/secrets"
	"github.com/pulumi/pulumi/pkg/v3/engine"
	pkgresource "github.com/pulumi/pulumi/pkg/v3/resource"
	"github.com/pulumi/pulumi/pkg/v3/resource/stack"
	"github.com/pulumi/pulumi/pkg/v3/util/cancel"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag/colors"
)

// unreachable is part of the provider's error if it could not reach the cluster when it was configured. The provider
// then refuses all later requests.
const unreachable = "configured Kubernetes cluster is unreachable"

// providerEnded is part of the error of a request to a provider whose process has ended.
var providerEnded = regexp.MustCompile("error reading from server|(transport|connection) is closing|connection error: desc")

var errNoStack = errors.New("not found")

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

// isUpdate says whether the operation changes its stack.
func (o *operation) isUpdate() bool { return o.request.Operation != opPreview }

// These methods make `operation` the scope in which Pulumi's engine runs it: a backend.CancellationScopeSource and a
// backend.CancellationScope.

func (o *operation) NewScope(context.Context, chan<- engine.Event, bool) backend.CancellationScope {
	return o
}

func (o *operation) Context() *cancel.Context { return o.scope }

func (*operation) Close() {}

// terminate ends the operation by force. A provider may still be working on the operation, so later operations do not
// use the process of this provider.
func (o *operation) terminate() {
	o.server.pool.retire(o.uses)
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
		o.server.pool.release(o)
		// A server that Pulumi never closes refers to the host, and so to the operation.
		o.request.Program = program{}
	}()
	err := o.apply(&result)
	if err == nil {
		result.Version = o.updateNumber()
		return result
	}
	result.Error = err.Error()
	text := strings.Join(append(result.Diagnostics, result.Error), "\n")
	switch {
	case errors.Is(err, errNoStack):
		result.ErrorKind = errorNoStack
	case errors.Is(err, context.Canceled) || o.scope.CancelErr() != nil:
		result.ErrorKind = errorCanceled
	case providerEnded.MatchString(text):
		result.ErrorKind = errorProviderEnded
	default:
		result.ErrorKind = errorFailed
	}
	if result.ErrorKind == errorProviderEnded || strings.Contains(text, unreachable) {
		o.server.pool.retire(o.uses)
	}
	return result
}

// apply runs the operation with the backend, and adds the events of the engine to the result.
func (o *operation) apply(result *answer) error {
	ctx := context.Background()
	reference, err := o.server.backend.ParseStackReference(o.request.Stack)
	if err != nil {
		return err
	}
	target, err := o.server.backend.GetStack(ctx, reference)
	if target == nil && err == nil && o.request.Operation == opUp {
		target, err = o.server.backend.CreateStack(ctx, reference, o.server.folder, nil, nil)
	}
	if err != nil {
		return err
	}
	if target == nil {
		return fmt.Errorf("the stack %q was %w", o.request.Stack, errNoStack)
	}
	update := o.updateOperation()
	return result.withEvents(o.server.folder, &update, func() (err error) {
		switch o.request.Operation {
		case opUp:
			result.Counts, err = backend.UpdateStack(ctx, target, update, nil)
		case opPreview:
			_, result.Counts, err = backend.PreviewStack(ctx, target, update, nil)
		case opRefresh:
			if err = clearPendingCreates(ctx, target); err == nil {
				result.Counts, err = backend.RefreshStack(ctx, target, update)
			}
		case opDestroy:
			if result.Counts, err = backend.DestroyStack(ctx, target, update); err == nil {
				_, err = backend.RemoveStack(ctx, target, false /*force*/, true /*removeBackups*/)
			}
		}
		return err
	})
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
	}
	return number
}

// updateOperation returns the settings with which the CLI would run the operation.
func (o *operation) updateOperation() backend.UpdateOperation {
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
				HostFactory:          o.newHost,
				SkipPluginPreInstall: true,
			},
			// With this display, Pulumi only drains the events.
			Display: display.Options{
				Color: colors.Never, SummaryJSON: true, SuppressPermalink: true, Stdout: io.Discard,
			},
			AutoApprove: true,
			SkipPreview: true,
		},
		StackConfiguration: backend.StackConfiguration{Config: o.request.Config, Decrypter: o.server.secrets.Decrypter()},
		SecretsManager:     o.server.secrets,
		SecretsProvider:    secrets.DefaultProvider,
		Scopes:             o,
	}
}

// clearPendingCreates removes pending creates from the state. The refresh that follows does not know whether these
// objects exist. The next `up` adopts them.
func clearPendingCreates(ctx context.Context, target backend.Stack) error {
	snapshot, err := target.Snapshot(ctx, secrets.DefaultProvider)
	if err != nil || snapshot == nil {
		return err
	}
	kept := slices.DeleteFunc(slices.Clone(snapshot.PendingOperations), func(pending pkgresource.Operation) bool {
		return pending.Type == pkgresource.OperationTypeCreating
	})
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
