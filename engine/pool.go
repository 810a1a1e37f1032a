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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/env"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
)

const (
	// A retired provider is killed when its operations have ended, or after this time.
	retiredProviderLimit = 2 * time.Minute
	providerStartLimit   = 30 * time.Second
	// attachVariable makes Pulumi connect to a running provider instead of starting one.
	attachVariable = "PULUMI_DEBUG_PROVIDERS"
)

// pool keeps provider processes running, so that operations do not start providers of their own. Operations whose
// providers have equal configurations share one process.
type pool struct {
	ctx  context.Context
	host plugin.Host
	// pluginContext is the context of all providers. It exists until this process ends.
	pluginContext *plugin.Context
	guard         sync.Mutex
	processes     []*providerProcess
	// starting is held while a provider starts, and while the environment variable for attaching is set.
	starting sync.Mutex
}

// providerProcess is one running provider. The pool's guard protects its fields.
type providerProcess struct {
	plugin.Provider
	descriptor string
	command    *exec.Cmd
	operations map[*operation]struct{}
	isRetired  bool
	// inputs is the configuration. It is nil until an operation configures the provider.
	inputs resource.PropertyMap
	// configuring is held while the provider is configured. It protects `isConfigured`.
	configuring  sync.Mutex
	isConfigured bool
}

// pooledProvider is the provider that one operation sees.
type pooledProvider struct {
	plugin.Provider
	pool       *pool
	process    *providerProcess
	operation  *operation
	descriptor workspace.PluginDescriptor
}

func newPool(ctx context.Context, host plugin.Host, folder string) (*pool, error) {
	pluginContext, err := plugin.NewContextWithHost(ctx, discard, discard, host, folder, folder, nil)
	if err != nil {
		return nil, err
	}
	return &pool{ctx: ctx, host: host, pluginContext: pluginContext}, nil
}

// provider returns a provider for the operation. The process is selected when the engine configures the provider.
func (p *pool) provider(o *operation, descriptor workspace.PluginDescriptor) (plugin.Provider, error) {
	process, err := p.use(o, descriptor, nil)
	if err != nil {
		return nil, err
	}
	return &pooledProvider{
		Provider: process.Provider, pool: p, process: process, operation: o, descriptor: descriptor,
	}, nil
}

// Configure selects a provider process of the pool. It configures the process only if no earlier operation has done so.
func (p *pooledProvider) Configure(
	ctx context.Context, request plugin.ConfigureRequest,
) (plugin.ConfigureResponse, error) {
	process, err := p.pool.use(p.operation, p.descriptor, request.Inputs)
	if err != nil {
		return plugin.ConfigureResponse{}, err
	}
	p.process, p.Provider = process, process.Provider
	process.configuring.Lock()
	defer process.configuring.Unlock()
	if process.isConfigured {
		return plugin.ConfigureResponse{}, nil
	}
	response, err := process.Provider.Configure(ctx, request)
	if err != nil {
		p.pool.retire(process)
		return response, err
	}
	process.isConfigured = true
	return response, nil
}

func (*pooledProvider) SignalCancellation(context.Context) error { return nil }

func (*pooledProvider) Close() error { return nil }

// use returns a provider process with the configuration `inputs` for the operation. If `inputs` is nil, a process with
// any configuration is returned. If there is no such process, use starts one. Meanwhile, operations that use other
// processes continue.
func (p *pool) use(
	o *operation, descriptor workspace.PluginDescriptor, inputs resource.PropertyMap,
) (*providerProcess, error) {
	if process := p.assign(o, descriptor, inputs, nil); process != nil {
		return process, nil
	}
	p.starting.Lock()
	defer p.starting.Unlock()
	if process := p.assign(o, descriptor, inputs, nil); process != nil {
		return process, nil
	}
	process, err := p.start(descriptor)
	if err != nil {
		return nil, err
	}
	return p.assign(o, descriptor, inputs, process), nil
}

// assign finds a process with the configuration `inputs` in the pool, records that the operation uses it, and returns
// it. It returns nil if there is no such process. If `started` is not nil, assign first adds this process to the pool.
func (p *pool) assign(
	o *operation, descriptor workspace.PluginDescriptor, inputs resource.PropertyMap, started *providerProcess,
) *providerProcess {
	p.guard.Lock()
	defer p.guard.Unlock()
	if started != nil {
		p.processes = append(p.processes, started)
	}
	for _, process := range p.processes {
		isEqual := inputs == nil || process.inputs == nil || reflect.DeepEqual(process.inputs, inputs)
		isUsable := process == started || (isEqual && !process.isRetired)
		if process.descriptor == descriptor.String() && isUsable {
			process.operations[o] = struct{}{}
			if process.inputs == nil {
				process.inputs = inputs
			}
			return process
		}
	}
	return nil
}

// start starts a provider, and connects to it.
func (p *pool) start(descriptor workspace.PluginDescriptor) (*providerProcess, error) {
	path, err := workspace.GetPluginPath(p.ctx, discard, descriptor, nil)
	if err != nil {
		return nil, err
	}
	command := exec.Command(path, p.host.ServerAddr())
	command.Stderr = os.Stderr
	command.SysProcAttr = endWithParent()
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := startProcess(command); err != nil {
		return nil, fmt.Errorf("start the provider %s: %w", descriptor.Name, err)
	}
	process := &providerProcess{
		descriptor: descriptor.String(), command: command, operations: map[*operation]struct{}{},
	}
	port, err := readPort(output, command)
	if err == nil {
		process.Provider, err = p.attach(descriptor, port)
	}
	go func() {
		_, _ = io.Copy(io.Discard, output)
		_ = command.Wait()
		p.retire(process)
		if process.Provider != nil {
			_ = process.Provider.Close() // closes the connection
		}
	}()
	if err != nil {
		_ = command.Process.Kill()
		return nil, fmt.Errorf("connect to the provider %s: %w", descriptor.Name, err)
	}
	slog.Info("provider started", "name", descriptor.Name, "pid", command.Process.Pid)
	return process, nil
}

// attach connects to a running provider. Pulumi reads the port from an environment variable. The caller holds
// `starting`.
func (p *pool) attach(descriptor workspace.PluginDescriptor, port int) (plugin.Provider, error) {
	if err := os.Setenv(attachVariable, fmt.Sprintf("%s:%d", descriptor.Name, port)); err != nil {
		return nil, err
	}
	defer os.Unsetenv(attachVariable)
	return plugin.NewProvider(p.host, p.pluginContext, descriptor, nil, false, "", "", env.Global())
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

// retire stops the assignment of new operations to the process. The process is killed when its operations have
// ended, or when the time limit has passed.
func (p *pool) retire(process *providerProcess) {
	p.guard.Lock()
	defer p.guard.Unlock()
	process.retire()
	p.removeUnused()
}

// retireAll retires the processes that the operation uses. If `o` is nil, it retires all processes.
func (p *pool) retireAll(o *operation) {
	p.guard.Lock()
	defer p.guard.Unlock()
	for _, process := range p.processes {
		if _, isUser := process.operations[o]; o == nil || isUser {
			process.retire()
		}
	}
	p.removeUnused()
}

// retire marks the process as retired. The caller holds the pool's guard.
func (p *providerProcess) retire() {
	if !p.isRetired {
		p.isRetired = true
		time.AfterFunc(retiredProviderLimit, func() { _ = p.command.Process.Kill() })
	}
}

// removeUnused kills retired processes without operations. The caller holds the guard.
func (p *pool) removeUnused() {
	kept := p.processes[:0]
	for _, process := range p.processes {
		if process.isRetired && len(process.operations) == 0 {
			_ = process.command.Process.Kill()
			continue
		}
		kept = append(kept, process)
	}
	clear(p.processes[len(kept):])
	p.processes = kept
}

func (p *pool) count() int {
	p.guard.Lock()
	defer p.guard.Unlock()
	return len(p.processes)
}

// readPort reads the port of the provider's gRPC service from the first line of its output.
func readPort(output io.Reader, command *exec.Cmd) (int, error) {
	limit := time.AfterFunc(providerStartLimit, func() { _ = command.Process.Kill() })
	defer limit.Stop()
	line, err := bufio.NewReaderSize(output, 16).ReadString('\n')
	if err != nil {
		return 0, errors.New("the provider ended before it printed its port")
	}
	return strconv.Atoi(strings.TrimSpace(line))
}
