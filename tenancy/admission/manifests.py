"""The admission policies that the API server itself enforces: no webhook that could be down.

`platform` installs them. Four modules say what they check: who may write (`write_protection`), whose
AISessions are where (`sessions`), the ways in and out (`network`), pods and claims (`workloads`).
"""

from collections.abc import Sequence
from typing import Final

from tenancy.admission.network import network_policies
from tenancy.admission.sessions import session_policies
from tenancy.admission.workloads import workload_policies
from tenancy.admission.write_protection import guards
from tenancy.base.manifest import Manifest

# People who run `pulumi up` by hand.
OPERATOR_GROUPS: Final = ("system:masters", "tenancy:operators")


def admission_manifests(watcher: str, operators: Sequence[str] = OPERATOR_GROUPS) -> list[Manifest]:
    """Each policy, followed by what binds it. `watcher` is the user name of the watcher's ServiceAccount."""
    return [*guards(watcher, operators), *session_policies(), *network_policies(), *workload_policies()]
