package v4

import (
	"reflect"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// RepositoryOpts says where a chart is and how to log in there.
type RepositoryOpts struct {
	CaFile   pulumi.AssetOrArchive `pulumi:"caFile"`
	CertFile pulumi.AssetOrArchive `pulumi:"certFile"`
	KeyFile  pulumi.AssetOrArchive `pulumi:"keyFile"`
	Password *string               `pulumi:"password"`
	Repo     *string               `pulumi:"repo"`
	Username *string               `pulumi:"username"`
}

type RepositoryOptsInput interface {
	pulumi.Input
	ToRepositoryOptsOutput() RepositoryOptsOutput
}

type RepositoryOptsOutput struct{ *pulumi.OutputState }

func (RepositoryOptsOutput) ElementType() reflect.Type { return reflect.TypeFor[RepositoryOpts]() }

func (output RepositoryOptsOutput) ToRepositoryOptsOutput() RepositoryOptsOutput { return output }

// PostRenderer is a command that edits the rendered manifests of a chart.
type PostRenderer struct {
	Args    []string `pulumi:"args"`
	Command string   `pulumi:"command"`
}

type PostRendererInput interface {
	pulumi.Input
	ToPostRendererOutput() PostRendererOutput
}

type PostRendererOutput struct{ *pulumi.OutputState }

func (PostRendererOutput) ElementType() reflect.Type { return reflect.TypeFor[PostRenderer]() }

func (output PostRendererOutput) ToPostRendererOutput() PostRendererOutput { return output }

func init() {
	pulumi.RegisterOutputType(RepositoryOptsOutput{})
	pulumi.RegisterOutputType(PostRendererOutput{})
}
