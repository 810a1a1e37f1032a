package main

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/diag"
	"github.com/pulumi/pulumi/sdk/v3/go/common/env"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// operationHost is the plugin host of one operation. It provides Pulumi's engine with providers from the pool. When the
// engine closes the host, the providers keep running.
//
// Log messages go to the pool's host, which discards them: providers return errors as results, and log only warnings
// and progress.
type operationHost struct {
	plugin.Host // the pool's host
	operation   *operation
}

// newHost creates the plugin host of the operation. It is an engine.HostFactory.
func (o *operation) newHost(context.Context, diag.Sink, diag.Sink, plugin.DebugContext) (plugin.Host, error) {
	return &operationHost{o.server.pool.context.Host, o}, nil
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

// programRuntime is a language runtime for one operation. It registers the resources of a program. It replaces the
// language host and the program that `pulumi up` runs.
type programRuntime struct {
	plugin.LanguageRuntime // not set: the engine calls only the methods below
	program                program
}

func (*programRuntime) Close() error { return nil }

func (*programRuntime) Cancel(context.Context) error { return nil }

func (*programRuntime) GetPluginInfo(context.Context) (plugin.PluginInfo, error) {
	return plugin.PluginInfo{}, nil
}

func (*programRuntime) GetRequiredPackages(
	context.Context, plugin.ProgramInfo,
) ([]workspace.PackageDescriptor, []workspace.PackageSpec, error) {
	return nil, nil, nil
}

// Run registers all resources. A failed resource is reported by the engine itself. In this case, Run returns the
// flag "bail", so that the engine adds no second message.
func (r *programRuntime) Run(ctx context.Context, info plugin.RunInfo) (string, bool, error) {
	connection, err := connect(info.MonitorAddress)
	if err != nil {
		return "", false, fmt.Errorf("connect to the resource monitor: %w", err)
	}
	defer connection.Close()
	// When Run returns, Pulumi's engine knows that all resources are registered. If the program also signaled this to the
	// monitor, the engine would leak a goroutine and the memory of the operation.
	err = r.register(ctx, pulumirpc.NewResourceMonitorClient(connection), info.Project+"-"+info.Stack)
	return "", err != nil, nil
}

// connect connects to a gRPC service of Pulumi's engine or of a provider.
func connect(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient(address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), rpcutil.GrpcChannelOptions())
}

func (r *programRuntime) register(
	ctx context.Context, monitor pulumirpc.ResourceMonitorClient, stackName string,
) error {
	stack, err := monitor.RegisterResource(ctx, registerRequest(string(resource.RootStackType), stackName, ""))
	if err != nil {
		return err
	}
	component, err := monitor.RegisterResource(ctx, registerRequest(r.program.Type, r.program.Name, stack.Urn))
	if err != nil {
		return err
	}
	if err := r.registerObjects(ctx, monitor, component.Urn); err != nil {
		return err
	}
	for urn, values := range map[string]*structpb.Struct{component.Urn: r.program.Outputs, stack.Urn: {}} {
		request := &pulumirpc.RegisterResourceOutputsRequest{Urn: urn, Outputs: values}
		if _, err := monitor.RegisterResourceOutputs(ctx, request); err != nil {
			return err
		}
	}
	return nil
}

// registration registers one object and returns its URN. Further calls return the same result.
type registration func() (string, error)

// registerObjects registers each object as soon as the objects that it refers to are registered.
func (r *programRuntime) registerObjects(
	ctx context.Context, monitor pulumirpc.ResourceMonitorClient, parent string,
) error {
	registrations := make([]registration, len(r.program.Resources))
	var registering sync.WaitGroup
	for index, object := range r.program.Resources {
		registrations[index] = sync.OnceValues(func() (string, error) {
			return r.registerObject(ctx, monitor, parent, object, registrations[:index])
		})
		registering.Go(func() { _, _ = registrations[index]() })
	}
	registering.Wait()
	for _, register := range registrations {
		if _, err := register(); err != nil {
			return err
		}
	}
	return nil
}

// registerObject registers one object. The earlier objects are in `earlier`.
func (r *programRuntime) registerObject(
	ctx context.Context, monitor pulumirpc.ResourceMonitorClient, parent string, object object, earlier []registration,
) (urn string, err error) {
	request := registerRequest(object.Type, object.Name, parent)
	request.Custom, request.Version, request.RetainOnDelete = true, r.program.ProviderVersion, object.RetainOnDelete
	for _, index := range object.DependsOn {
		if urn, err = earlier[index](); err != nil {
			return "", err
		}
		request.Dependencies = append(request.Dependencies, urn)
	}
	if object.DeletedWith != nil {
		if request.DeletedWith, err = earlier[*object.DeletedWith](); err != nil {
			return "", err
		}
	}
	request.Object = object.Inputs
	// An empty list per property states that no property depends on another resource. Without it, the engine
	// assumes that each property depends on all dependencies.
	request.PropertyDependencies = map[string]*pulumirpc.RegisterResourceRequest_PropertyDependencies{}
	for name := range object.Inputs.Fields {
		request.PropertyDependencies[name] = &pulumirpc.RegisterResourceRequest_PropertyDependencies{}
	}
	response, err := monitor.RegisterResource(ctx, request)
	if err != nil {
		return "", err
	}
	if response.Result != pulumirpc.Result_SUCCESS {
		return "", fmt.Errorf("%s: registration failed", object.Name)
	}
	return response.Urn, nil
}

func registerRequest(resourceType, name, parent string) *pulumirpc.RegisterResourceRequest {
	return &pulumirpc.RegisterResourceRequest{
		Type:                    resourceType,
		Name:                    name,
		Parent:                  parent,
		Object:                  &structpb.Struct{},
		AcceptSecrets:           true,
		AcceptResources:         true,
		SupportsPartialValues:   true,
		SupportsResultReporting: true,
	}
}
