// Replaces the provider's generated Go SDK, which takes longer to compile than everything else in the
// provider. The provider uses the names below and no others; a build fails if that changes.
module github.com/pulumi/pulumi-kubernetes/sdk/v4

go 1.24

require github.com/pulumi/pulumi/sdk/v3 v3.214.0
