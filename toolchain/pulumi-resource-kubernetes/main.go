// The Kubernetes provider, as its own command builds it.
//
// The published module lacks two generated files, so its command does not build from the module alone.
// The build copies the module's schema and Terraform mapping beside this file before it compiles.
package main

import (
	_ "embed"

	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/provider"
	"github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version"
)

//go:embed schema.json
var schema []byte

//go:embed terraform-mapping.json
var terraformMapping []byte

func main() {
	provider.Serve("kubernetes", version.Version, schema, terraformMapping)
}
