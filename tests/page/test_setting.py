"""The platform's stack serves the page only where it is asked to, with the rights that it needs."""

from tenancy.base.kinds import SUBJECT_ACCESS_REVIEW, TOKEN_REVIEW
from tenancy.platform.settings import PlatformSettings
from tenancy.platform.watcher_rights import watcher_rbac
from tenancy.platform.watcher_workload import watcher_workload


def arguments(**settings: object) -> list[str]:
    # As `pulumi config set` gives them: all is text.
    given = PlatformSettings.model_validate({"image": "watcher:1", **settings})
    [_, stateful_set] = watcher_workload(given)
    [container] = stateful_set["spec"]["template"]["spec"]["containers"]
    found: list[str] = container["args"]
    return found


def test_pod_serves_the_page_only_where_it_is_set() -> None:
    assert "--page" not in arguments()
    assert "--page" not in arguments(page="false")
    assert "--page" in arguments(page="true")


def test_watcher_may_ask_who_somebody_is_and_nothing_more_of_it() -> None:
    [role] = [found for found in watcher_rbac() if found["kind"] == "ClusterRole"]
    for review in (TOKEN_REVIEW, SUBJECT_ACCESS_REVIEW):
        [rule] = [rule for rule in role["rules"] if review.group in rule["apiGroups"]]
        assert rule == {"apiGroups": [review.group], "resources": [review.plural], "verbs": ["create"]}
