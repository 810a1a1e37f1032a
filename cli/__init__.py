"""The `tenancy` command line.

The commands read the cluster and the tenants' Pulumi stacks. They write Tenants, and delete AISessions to
cancel them. `tenancy prove --report` writes report objects. The commands write nothing else to the cluster.
"""
