"""The checks of `tenancy doctor`. They check the cluster, the watcher and Pulumi, and change nothing."""
