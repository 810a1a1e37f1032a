"""Finds, downloads or builds the programs that the product and its tests use, such as etcd and pulumi."""
