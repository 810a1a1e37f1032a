package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	pkghost "github.com/pulumi/pulumi/pkg/v3/host"
	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"tenancy.local/engine/child"
)

const (
	// A retired provider is killed when its operations have ended, or after this time.
	retiredProviderLimit = 2 * time.Minute
	providerStartLimit   = 30 * time.Second
)

// pool keeps provider processes running, so that operations do not start providers of their own. Operations whose
// providers have equal configurations share one process.
type pool struct {
	// context is the context of all providers. It exists until this process ends.
	context   *plugin.Context
	guard     sync.Mutex
	processes []*providerProcess
}

// providerProcess is one provider. The pool's guard protects `operations`, `inputs` and `isRetired`.
type providerProcess struct {
	plugin.Provider // set by `start`
	descriptor      workspace.PluginDescriptor
	// start starts the process and connects to it. If another operation has called it before, it only waits.
	start     func() error
	command   *exec.Cmd
	configure sync.Once
	// inputs is the configuration. It is nil until an operation configures the provider.
	inputs     resource.PropertyMap
	operations map[*operation]struct{}
	isRetired  bool
}

// pooledProvider is the provider that one operation sees.
type pooledProvider struct {
	*providerProcess
	pool      *pool
	operation *operation
}

// newPool creates a pool. Its plugin host serves no schemas, mappings and package names, because the programs do not
// need them.
func newPool(ctx context.Context, folder string) (*pool, error) {
	host, err := pkghost.New(ctx, nil, nil, nil, nil, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	pluginContext, err := plugin.NewContextWithHost(ctx, discard, discard, host, folder, folder, nil)
	return &pool{context: pluginContext}, err
}

// provider returns a provider for the operation. The process is selected when the engine configures the provider.
func (p *pool) provider(o *operation, descriptor workspace.PluginDescriptor) (plugin.Provider, error) {
	process, err := p.use(o, descriptor, nil)
	return &pooledProvider{process, p, o}, err
}

// Configure selects a provider process of the pool. It configures the process only if no earlier operation has done so.
func (p *pooledProvider) Configure(
	ctx context.Context, request plugin.ConfigureRequest,
) (response plugin.ConfigureResponse, err error) {
	p.providerProcess, err = p.pool.use(p.operation, p.descriptor, request.Inputs)
	if err == nil {
		// The provider reports a failure as the result of each later request.
		p.configure.Do(func() { response, err = p.Provider.Configure(ctx, request) })
	}
	return response, err
}

func (*pooledProvider) SignalCancellation(context.Context) error { return nil }

func (*pooledProvider) Close() error { return nil }

// use returns a running provider process with the configuration `inputs`, and records that the operation uses it. If
// `inputs` is nil, a process with any configuration is returned. If there is no such process, use starts one.
func (p *pool) use(
	o *operation, descriptor workspace.PluginDescriptor, inputs resource.PropertyMap,
) (*providerProcess, error) {
	p.guard.Lock()
	index := slices.IndexFunc(p.processes, func(process *providerProcess) bool {
		isEqual := inputs == nil || process.inputs == nil || reflect.DeepEqual(process.inputs, inputs)
		return isEqual && !process.isRetired && process.descriptor.String() == descriptor.String()
	})
	if index < 0 {
		process := &providerProcess{descriptor: descriptor, operations: map[*operation]struct{}{}}
		process.start = sync.OnceValue(func() error { return p.start(process) })
		index = len(p.processes)
		p.processes = append(p.processes, process)
	}
	process := p.processes[index]
	process.operations[o] = struct{}{}
	if process.inputs == nil {
		process.inputs = inputs
	}
	p.guard.Unlock()
	// Operations that use other processes continue while the process starts.
	if err := process.start(); err != nil {
		p.retire(process.isSame)
		return process, fmt.Errorf("start the provider %s: %w", descriptor.Name, err)
	}
	return process, nil
}

// start starts the process, and connects to it.
func (p *pool) start(process *providerProcess) error {
	path, err := workspace.GetPluginPath(p.context.Base(), discard, process.descriptor, nil)
	if err != nil {
		return err
	}
	output, writer := io.Pipe()
	command := exec.Command(path, p.context.Host.ServerAddr())
	command.Stdout, command.Stderr, command.SysProcAttr = writer, os.Stderr, child.EndWithParent()
	started := make(chan error)
	go func() {
		// Keeps the thread that starts the process, because the process ends with this thread.
		runtime.LockOSThread()
		started <- command.Start()
		_ = command.Wait()
		_ = writer.Close()
	}()
	if err := <-started; err != nil {
		return err
	}
	process.command = command
	limit := time.AfterFunc(providerStartLimit, process.kill)
	defer limit.Stop()
	// The first line is the port of the provider's gRPC service.
	port, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return errors.New("it ended before it printed its port")
	}
	connection, err := connect("127.0.0.1:" + strings.TrimSpace(port))
	if err != nil {
		return err
	}
	process.Provider = plugin.NewProviderWithClient(p.context, pulumirpc.NewResourceProviderClient(connection), false)
	go func() {
		_, _ = io.Copy(io.Discard, output) // ends with the process
		p.retire(process.isSame)
		_ = connection.Close()
	}()
	slog.Info("provider started", "name", process.descriptor.Name, "pid", command.Process.Pid)
	return nil
}

// release records that the operation no longer uses any provider.
func (p *pool) release(o *operation) {
	p.guard.Lock()
	defer p.guard.Unlock()
	for _, process := range p.processes {
		delete(process.operations, o)
	}
	p.removeUnused()
}

// retire stops the assignment of new operations to the processes for which the function returns true. A retired process
// is killed when its operations have ended, or when the time limit has passed.
func (p *pool) retire(isAffected func(*providerProcess) bool) {
	p.guard.Lock()
	defer p.guard.Unlock()
	for _, process := range p.processes {
		if isAffected(process) && !process.isRetired {
			process.isRetired = true
			time.AfterFunc(retiredProviderLimit, process.kill)
		}
	}
	p.removeUnused()
}

// removeUnused kills retired processes without operations. The caller holds the guard.
func (p *pool) removeUnused() {
	p.processes = slices.DeleteFunc(p.processes, func(process *providerProcess) bool {
		isUnused := process.isRetired && len(process.operations) == 0
		if isUnused {
			process.kill()
		}
		return isUnused
	})
}

func (p *providerProcess) kill() {
	if p.command != nil {
		_ = p.command.Process.Kill()
	}
}

// These functions select the processes that `retire` affects.

func allProcesses(*providerProcess) bool { return true }

func (p *providerProcess) isSame(other *providerProcess) bool { return p == other }

func (o *operation) uses(process *providerProcess) bool {
	_, isUser := process.operations[o]
	return isUser
}
