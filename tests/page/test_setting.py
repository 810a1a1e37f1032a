"""The platform's stack enables the web page only if the setting `page` is true.

The watcher's RBAC rules let it create the reviews that the page needs.
"""

from tenancy.base.kinds import SUBJECT_ACCESS_REVIEW, TOKEN_REVIEW
from tenancy.platform.settings import PlatformSettings
from tenancy.platform.watcher_rights import watcher_rbac
from tenancy.platform.watcher_workload import watcher_workload


def arguments(**settings: object) -> list[str]:
    # Values can be text, because `pulumi config set` stores text.
    platform_settings = PlatformSettings.model_validate({"image": "watcher:1", **settings})
    [_, stateful_set] = watcher_workload(platform_settings)
    [container] = stateful_set["spec"]["template"]["spec"]["containers"]
    args: list[str] = container["args"]
    return args


def test_pod_serves_the_page_only_if_it_is_set() -> None:
    assert "--page" not in arguments()
    assert "--page" not in arguments(page="false")
    assert "--page" in arguments(page="true")


def test_watcher_may_only_create_reviews() -> None:
    [role] = [manifest for manifest in watcher_rbac() if manifest["kind"] == "ClusterRole"]
    for review in (TOKEN_REVIEW, SUBJECT_ACCESS_REVIEW):
        [rule] = [rule for rule in role["rules"] if review.group in rule["apiGroups"]]
        assert rule == {"apiGroups": [review.group], "resources": [review.plural], "verbs": ["create"]}
