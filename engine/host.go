package main

import (
	"context"
	"sync"

	"github.com/pulumi/pulumi/pkg/v3/engine"
	pkghost "github.com/pulumi/pulumi/pkg/v3/host"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/env"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

// newSharedHost creates the plugin host that lives as long as the process. Providers send their log messages to it.
// It serves no schemas, mappings and package names, because the programs do not need them.
func newSharedHost(ctx context.Context, logs *logRouter) (plugin.Host, error) {
	return pkghost.New(ctx, logs, discard, nil, nil, nil, nil, nil)
}

// operationHost is the plugin host of one operation. It provides Pulumi's engine with providers from the pool. When the
// engine closes the host, the providers keep running.
type operationHost struct {
	plugin.Host // the shared host
	operation   *operation
	logs, infos diag.Sink
}

// hostFactory returns a function that creates the plugin host of the operation.
func (o *operation) hostFactory() engine.HostFactory {
	return func(_ context.Context, logs, infos diag.Sink, _ plugin.DebugContext) (plugin.Host, error) {
		o.server.logs.route(o, logs)
		return &operationHost{Host: o.server.host, operation: o, logs: logs, infos: infos}, nil
	}
}

func (h *operationHost) Log(severity diag.Severity, urn resource.URN, message string, stream int32) {
	h.logs.Logf(severity, diag.StreamMessage(urn, message, stream))
}

func (h *operationHost) LogStatus(severity diag.Severity, urn resource.URN, message string, stream int32) {
	h.infos.Logf(severity, diag.StreamMessage(urn, message, stream))
}

func (h *operationHost) Provider(
	_ *plugin.Context, descriptor workspace.PluginDescriptor, _ env.Env,
) (plugin.Provider, error) {
	return h.operation.server.pool.provider(h.operation, descriptor)
}

func (h *operationHost) LanguageRuntime(*plugin.Context, string) (plugin.LanguageRuntime, error) {
	return &programRuntime{program: h.operation.request.Program}, nil
}

// Pulumi's engine calls these methods when an operation ends or is canceled, to stop the providers. They do nothing,
// because other operations use the same providers.

func (*operationHost) ReleaseContext(*plugin.Context) error { return nil }

func (*operationHost) SignalCancellation() error { return nil }

func (*operationHost) Close() error { return nil }

// logRouter forwards the log messages of providers to the operations that the messages belong to. The URN of a
// message contains the name of the stack.
type logRouter struct {
	diag.Sink // receives messages that belong to no running operation
	guard     sync.Mutex
	sinks     map[*operation]diag.Sink
}

func (r *logRouter) route(o *operation, sink diag.Sink) {
	r.guard.Lock()
	defer r.guard.Unlock()
	r.sinks[o] = sink
}

func (r *logRouter) forget(o *operation) {
	r.guard.Lock()
	defer r.guard.Unlock()
	delete(r.sinks, o)
}

func (r *logRouter) Logf(severity diag.Severity, message *diag.Diag, arguments ...any) {
	if !message.URN.IsValid() {
		r.Sink.Logf(severity, message, arguments...)
		return
	}
	// The lock is held until the message is delivered, so that no message arrives after `forget`.
	r.guard.Lock()
	defer r.guard.Unlock()
	for operation, sink := range r.sinks {
		if operation.request.Stack == string(message.URN.Stack()) {
			sink.Logf(severity, message, arguments...)
		}
	}
}
