"""Manifests of all admission policies and their bindings.

The API server evaluates the policies itself, so they do not depend on the availability of a webhook. Each
module defines one group of checks: who may write (`write_protection`), which AISessions a namespace accepts
(`sessions`), traffic in and out of a tenant (`network`), pods and PersistentVolumeClaims (`workloads`).
"""

from collections.abc import Sequence
from typing import Final

from tenancy.admission.network import network_policies
from tenancy.admission.sessions import session_policies
from tenancy.admission.workloads import workload_policies
from tenancy.admission.write_protection import write_protection_policies
from tenancy.base.manifest import Manifest

# Groups whose members run `pulumi up` by hand.
OPERATOR_GROUPS: Final = ("system:masters", "tenancy:operators")


def admission_manifests(watcher: str, operators: Sequence[str] = OPERATOR_GROUPS) -> list[Manifest]:
    """Every policy, followed by its bindings.

    `watcher` is the user name of the watcher's ServiceAccount, `operators` are names of groups.
    """
    return [
        *write_protection_policies(watcher, operators),
        *session_policies(),
        *network_policies(),
        *workload_policies(),
    ]
