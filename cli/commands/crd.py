"""`tenancy crd`: prints the CRDs, for installations that do not use the platform's Pulumi stack."""

import yaml

from cli.output import console
from tenancy.spec.crd import crds


def print_crds() -> None:
    """Print the CRDs as YAML. Install them with `tenancy crd | kubectl apply --server-side -f -`."""
    console.print(yaml.safe_dump_all(crds(), sort_keys=False).rstrip())
