package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/pulumi/pulumi/pkg/v3/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// stackType is the type of the resource at the root of each stack.
const stackType = "pulumi:pulumi:Stack"

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
	connection, err := grpc.NewClient(info.MonitorAddress,
		grpc.WithTransportCredentials(insecure.NewCredentials()), rpcutil.GrpcChannelOptions())
	if err != nil {
		return "", false, fmt.Errorf("connect to the resource monitor: %w", err)
	}
	defer connection.Close()
	monitor := pulumirpc.NewResourceMonitorClient(connection)
	// When Run returns, Pulumi's engine knows that all resources are registered. If the program also signaled this to the
	// monitor, the engine would leak a goroutine and the memory of the operation.
	err = r.register(ctx, monitor, info.Project+"-"+info.Stack)
	return "", err != nil, nil
}

func (r *programRuntime) register(
	ctx context.Context, monitor pulumirpc.ResourceMonitorClient, stackName string,
) error {
	stack, err := monitor.RegisterResource(ctx, componentRequest(stackType, stackName, ""))
	if err != nil {
		return err
	}
	component, err := monitor.RegisterResource(ctx, componentRequest(r.program.Type, r.program.Name, stack.Urn))
	if err != nil {
		return err
	}
	if err := r.registerObjects(ctx, monitor, component.Urn); err != nil {
		return err
	}
	outputs := &structpb.Struct{Fields: map[string]*structpb.Value{}}
	for name, text := range r.program.Outputs {
		value := &structpb.Value{}
		if err := value.UnmarshalJSON(text); err != nil {
			return err
		}
		outputs.Fields[name] = value
	}
	for urn, values := range map[string]*structpb.Struct{component.Urn: outputs, stack.Urn: {}} {
		request := &pulumirpc.RegisterResourceOutputsRequest{Urn: urn, Outputs: values}
		if _, err := monitor.RegisterResourceOutputs(ctx, request); err != nil {
			return err
		}
	}
	return nil
}

// registerObjects registers each object as soon as the objects that it depends on are registered.
func (r *programRuntime) registerObjects(
	ctx context.Context, monitor pulumirpc.ResourceMonitorClient, parent string,
) error {
	objects := make([]registeredObject, len(r.program.Resources))
	for index := range objects {
		objects[index].done = make(chan struct{})
	}
	var waiting sync.WaitGroup
	for index := range r.program.Resources {
		waiting.Go(func() {
			object := &objects[index]
			defer close(object.done)
			object.urn, object.err = r.registerObject(ctx, monitor, parent, index, objects)
		})
	}
	waiting.Wait()
	for _, object := range objects {
		if object.err != nil {
			return object.err
		}
	}
	return nil
}

// registeredObject is the result of one registration. `done` is closed when the other fields are set.
type registeredObject struct {
	done chan struct{}
	urn  string
	err  error
}

func (r *programRuntime) registerObject(
	ctx context.Context, monitor pulumirpc.ResourceMonitorClient, parent string, index int, objects []registeredObject,
) (string, error) {
	declared := r.program.Resources[index]
	dependencies := make([]string, 0, len(declared.DependsOn))
	for _, other := range declared.DependsOn {
		<-objects[other].done
		if objects[other].err != nil {
			return "", objects[other].err
		}
		dependencies = append(dependencies, objects[other].urn)
	}
	deletedWith := ""
	if declared.DeletedWith != nil {
		<-objects[*declared.DeletedWith].done
		deletedWith = objects[*declared.DeletedWith].urn
	}
	inputs := &structpb.Struct{}
	if err := inputs.UnmarshalJSON(declared.Inputs); err != nil {
		return "", fmt.Errorf("%s: %w", declared.Name, err)
	}
	// An empty list per property states that no property depends on another resource. Without it, the engine
	// assumes that each property depends on all dependencies.
	properties := make(map[string]*pulumirpc.RegisterResourceRequest_PropertyDependencies, len(inputs.Fields))
	for name := range inputs.Fields {
		properties[name] = &pulumirpc.RegisterResourceRequest_PropertyDependencies{}
	}
	response, err := monitor.RegisterResource(ctx, &pulumirpc.RegisterResourceRequest{
		Type:                    declared.Type,
		Name:                    declared.Name,
		Parent:                  parent,
		Custom:                  true,
		Object:                  inputs,
		Dependencies:            dependencies,
		PropertyDependencies:    properties,
		Version:                 r.program.ProviderVersion,
		AcceptSecrets:           true,
		AcceptResources:         true,
		SupportsPartialValues:   true,
		SupportsResultReporting: true,
		RetainOnDelete:          declared.RetainOnDelete,
		DeletedWith:             deletedWith,
	})
	if err != nil {
		return "", err
	}
	if response.Result != pulumirpc.Result_SUCCESS {
		return "", fmt.Errorf("%s: registration failed", declared.Name)
	}
	return response.Urn, nil
}

func componentRequest(componentType, name, parent string) *pulumirpc.RegisterResourceRequest {
	return &pulumirpc.RegisterResourceRequest{
		Type:                    componentType,
		Name:                    name,
		Parent:                  parent,
		Object:                  &structpb.Struct{},
		AcceptSecrets:           true,
		AcceptResources:         true,
		SupportsPartialValues:   true,
		SupportsResultReporting: true,
	}
}

// validate checks that registrations refer only to earlier registrations, so that no registration waits forever.
func (p *program) validate() error {
	for index, declared := range p.Resources {
		references := declared.DependsOn
		if declared.DeletedWith != nil {
			references = append(references[:len(references):len(references)], *declared.DeletedWith)
		}
		for _, other := range references {
			if other < 0 || other >= index {
				return fmt.Errorf("resource %d (%s) refers to resource %d", index, declared.Name, other)
			}
		}
		if !json.Valid(declared.Inputs) {
			return fmt.Errorf("resource %d (%s) has invalid inputs", index, declared.Name)
		}
	}
	return nil
}
