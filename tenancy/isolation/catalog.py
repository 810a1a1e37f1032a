"""The list of all checks. To add a check, add it to the list in a module such as `pod_checks`."""

from typing import Final

from tenancy.isolation.access_checks import ACCESS_CHECKS
from tenancy.isolation.check import Check
from tenancy.isolation.identity_checks import IDENTITY_CHECKS
from tenancy.isolation.managed_checks import MANAGED_CHECKS
from tenancy.isolation.network_checks import NETWORK_CHECKS
from tenancy.isolation.pod_checks import POD_CHECKS
from tenancy.isolation.resource_checks import RESOURCE_CHECKS
from tenancy.isolation.scheduling_checks import SCHEDULING_CHECKS
from tenancy.isolation.tenant_checks import TENANT_CHECKS
from tenancy.isolation.traffic_checks import TRAFFIC_CHECKS

CHECKS: Final[tuple[Check, ...]] = (
    *ACCESS_CHECKS,
    *MANAGED_CHECKS,
    *IDENTITY_CHECKS,
    *POD_CHECKS,
    *SCHEDULING_CHECKS,
    *RESOURCE_CHECKS,
    *NETWORK_CHECKS,
    *TRAFFIC_CHECKS,
    *TENANT_CHECKS,
)
CHECK_BY_ID: Final = {check.id: check for check in CHECKS}
