"""`tenancy crd`: the CRDs, for those who install them by other means than the platform's stack."""

import yaml

from cli.output import console
from tenancy.spec.crd import crds


def print_crds() -> None:
    """Print the CRDs as YAML, to be piped into `kubectl apply --server-side -f -`."""
    console.print(yaml.safe_dump_all(crds(), sort_keys=False).rstrip())
