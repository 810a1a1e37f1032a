"""CEL expressions and checks for the hosts that the objects of a tenant use."""

from typing import Final

from tenancy.admission.policy_builder import ANNOTATIONS, allowed_suffix, annotation_items, cel_string, check
from tenancy.base.manifest import Manifest
from tenancy.objects.policy_annotations import HOSTNAMES

HOSTS: Final = {**ANNOTATIONS, "hostnames": annotation_items(HOSTNAMES)}
# CEL: whether host `h` is one of the tenant's hosts.
IS_OWN_HOST: Final = (
    "!h.startsWith('*') && "
    "variables.hostnames.exists(e, e.startsWith('*.') ? h.endsWith(e.substring(1)) : h == e)"
)


def host_checks(field: str, hosts: str = "variables.hosts", is_own: str = IS_OWN_HOST) -> list[Manifest]:
    """Two checks of the hosts of an object: no host is empty, and every host belongs to the tenant.

    `field` is the path of the hosts in the object. Error messages contain this path. `hosts` is a CEL
    expression that returns the hosts. `is_own` is a CEL expression that is true if host `h` belongs to the
    tenant.
    """
    return [
        check(
            f"{hosts}.all(h, h != '')",
            cel_string(f"{field}: required, because an empty host matches every host"),
        ),
        check(
            f"{hosts}.all(h, {is_own})",
            f"'{field}: ' + {hosts}.filter(h, !({is_own})).join(', ') + "
            f"' is not one of the tenant\\'s hosts, or is a wildcard' + {allowed_suffix(HOSTNAMES)}",
        ),
    ]
