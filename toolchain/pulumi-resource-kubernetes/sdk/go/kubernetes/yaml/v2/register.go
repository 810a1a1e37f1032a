package v2

import (
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RegisterResource registers an object out of a YAML file. The state of the resource is the same for every
// kind: callers read its ID and URN, never its outputs.
func RegisterResource(ctx *pulumi.Context, apiVersion, kind, name string, inputs pulumi.Input,
	options ...pulumi.ResourceOption) (pulumi.CustomResource, error) {
	if !strings.Contains(apiVersion, "/") {
		apiVersion = "core/" + apiVersion
	}
	resource := &pulumi.CustomResourceState{}
	err := ctx.RegisterResource("kubernetes:"+apiVersion+":"+kind, name, inputs, resource, options...)
	if err != nil {
		return nil, err
	}
	return resource, nil
}
