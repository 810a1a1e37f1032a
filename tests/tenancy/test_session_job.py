"""The Job of an AISession: its container, its security settings, and its owner."""

from typing import Any

import pytest

from tenancy.base.errors import NotOffered, UnknownModel
from tenancy.base.manifest import Manifest
from tenancy.base.names import session_job_name
from tenancy.sessions.job import is_job_of, session_job
from tenancy.spec.session_config import SessionsConfig
from tenancy.spec.settings import PullPolicy, TenantSettings
from tests.tenancy.session_parts import session, spec

CONFIG = SessionsConfig.model_validate(
    {
        "types": {
            "analysis": {
                "image": "registry.example/analysis:1",
                "command": ["run"],
                "args": ["--fast"],
                "env": {"LEVEL": "info", "SIZE": "type"},
                "annotations": {"a": "type", "b": "type"},
                "model": "small",
                "serviceAccount": "analyst",
            },
            "research": {"image": "registry.example/research:1", "model": "large"},
        },
        "models": {
            "small": {"env": {"SIZE": "small"}, "annotations": {"a": "small"}},
            "large": {"image": "registry.example/large:1"},
        },
    }
)


def job_for(settings: TenantSettings | None = None, **fields: Any) -> Manifest:
    return session_job(session(), spec(**fields), CONFIG, settings or TenantSettings())


def pod_of(job: Manifest) -> Manifest:
    pod: Manifest = job["spec"]["template"]["spec"]
    return pod


def container_of(job: Manifest) -> Manifest:
    containers: list[Manifest] = pod_of(job)["containers"]
    [container] = containers
    return container


def env_of(job: Manifest) -> dict[str, str]:
    return {variable["name"]: variable["value"] for variable in container_of(job)["env"]}


def test_job_is_the_sessions_own_and_the_tenants() -> None:
    job = job_for()
    metadata = job["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("aisession-one", "tenant-acme")
    assert metadata["labels"] == {"platform.ai/session": "one", "tenant.platform.ai/name": "acme"}
    [owner] = metadata["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("AISession", "uid-one", True)
    assert owner["blockOwnerDeletion"] is False
    assert is_job_of(job, session())
    assert not is_job_of(job, session("two"))
    assert not is_job_of({"metadata": {"name": "aisession-one"}}, session())


def test_job_that_only_says_so_is_not_the_sessions() -> None:
    """Any user can set the owner reference, but only the platform can set the tenant label."""
    job = job_for()
    forged = {**job, "metadata": {**job["metadata"], "labels": {"platform.ai/session": "one"}}}
    assert not is_job_of(forged, session())


def test_pod_carries_no_label_of_the_tenants() -> None:
    assert job_for()["spec"]["template"]["metadata"]["labels"] == {"platform.ai/session": "one"}


def test_job_runs_once_until_its_timeout_and_is_cleaned_up() -> None:
    job = job_for(timeout="1h30m")["spec"]
    assert (job["activeDeadlineSeconds"], job["backoffLimit"]) == (5400, 0)
    assert job["ttlSecondsAfterFinished"] > 0


def test_pod_is_restricted_and_has_no_token() -> None:
    pod, container = pod_of(job_for()), container_of(job_for())
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert not pod.keys() & {"hostNetwork", "hostPID", "hostIPC", "volumes"}


def test_requests_are_the_limits_and_the_sessions() -> None:
    amounts = {"cpu": "250m", "memory": "2Gi"}
    assert container_of(job_for(resources=amounts))["resources"] == {"requests": amounts, "limits": amounts}


def test_result_is_a_file_and_never_the_log() -> None:
    container = container_of(job_for())
    assert container["terminationMessagePolicy"] == "File"
    assert env_of(job_for())["AISESSION_RESULT_FILE"] == container["terminationMessagePath"]


def test_image_and_command_go_by_the_type() -> None:
    container = container_of(job_for())
    assert container["image"] == "registry.example/analysis:1"
    assert (container["command"], container["args"]) == (["run"], ["--fast"])
    assert pod_of(job_for())["serviceAccountName"] == "analyst"
    other = job_for(sessionType="research", aiModel="small")
    assert container_of(other)["image"] == "registry.example/research:1"
    assert not container_of(other).keys() & {"command", "args"}
    assert pod_of(other)["serviceAccountName"] == "default"


def test_model_stands_over_the_type() -> None:
    assert container_of(job_for(aiModel="large"))["image"] == "registry.example/large:1"
    env = env_of(job_for())
    assert (env["LEVEL"], env["SIZE"]) == ("info", "small")
    assert job_for()["spec"]["template"]["metadata"]["annotations"] == {"a": "small", "b": "type"}
    assert (env["AISESSION_NAME"], env["AISESSION_TYPE"], env["AISESSION_MODEL"]) == (
        "one",
        "analysis",
        "small",
    )


def test_what_the_platform_does_not_run_is_told() -> None:
    with pytest.raises(NotOffered, match=r"add sessions\.types\.automation to the plans file"):
        job_for(sessionType="automation")
    with pytest.raises(UnknownModel, match=r"spec\.aiModel: there is no model 'huge'; known: large, small"):
        job_for(aiModel="huge")


def test_pod_keeps_to_what_the_tenant_is_given() -> None:
    settings = TenantSettings(
        node_selector={"pool": "tenants"},
        image_pull_policies=(PullPolicy.ALWAYS,),
        runtime_classes=("sandbox",),
    )
    pod = pod_of(job_for(settings))
    assert (pod["nodeSelector"], pod["runtimeClassName"]) == ({"pool": "tenants"}, "sandbox")
    assert container_of(job_for(settings))["imagePullPolicy"] == "Always"
    unrestricted = job_for(TenantSettings(runtime_classes=("", "sandbox")))
    assert not pod_of(unrestricted).keys() & {"nodeSelector", "runtimeClassName"}
    assert "imagePullPolicy" not in container_of(unrestricted)
    either = TenantSettings(image_pull_policies=(PullPolicy.ALWAYS, PullPolicy.IF_NOT_PRESENT))
    assert container_of(job_for(either))["imagePullPolicy"] == "IfNotPresent"


@pytest.mark.parametrize("length", [1, 53, 54, 253])
def test_names_of_jobs_fit_into_a_label_and_differ(length: int) -> None:
    names = {session_job_name("s" * (length - 1) + end) for end in "ab"}
    assert len(names) == 2
    assert all(len(name) <= 63 and name.startswith("aisession-") for name in names)


def test_long_name_of_a_session_is_a_legal_label() -> None:
    job = session_job(session("s" * 200), spec(), CONFIG, TenantSettings())
    assert len(job["metadata"]["labels"]["platform.ai/session"]) <= 63
    assert env_of(job)["AISESSION_NAME"] == "s" * 200
