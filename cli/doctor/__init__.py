"""The checks of `tenancy doctor`: of the cluster, the watcher, Pulumi and its state. They change nothing."""
