module tenancy.local/toolchain/crds

go 1.26

require (
	github.com/prometheus-operator/prometheus-operator v0.85.0
	istio.io/api v1.31.1
	sigs.k8s.io/gateway-api v1.6.3
	sigs.k8s.io/hierarchical-namespaces v1.1.0
)
