"""The checks of `tenancy doctor`. They check the cluster, the watcher and Pulumi. They change nothing."""
