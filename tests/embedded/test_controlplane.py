"""The control plane with the real binaries: requests, stored state, and errors at startup."""

import os
import socket
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from embedded.controlplane import loopback, start_errors
from embedded.controlplane import plane as controlplane
from embedded.controlplane.components import IDENTITIES
from embedded.controlplane.plane import ControlPlane
from embedded.controlplane.start_errors import ControlPlaneError

Kubectl = Callable[..., str]


def test_api_server_answers_and_knows_its_admin(control_plane: ControlPlane, kubectl: Kubectl) -> None:
    assert kubectl(control_plane, "get", "--raw", "/readyz") == "ok"
    assert "system:masters" in kubectl(control_plane, "auth", "whoami")


def test_strangers_are_refused_by_rbac(control_plane: ControlPlane, kubectl: Kubectl) -> None:
    with pytest.raises(AssertionError, match="Forbidden"):
        kubectl(control_plane, "get", "secrets", "--as", "stranger")


def test_service_account_token_is_accepted(control_plane: ControlPlane, kubectl: Kubectl) -> None:
    token = kubectl(control_plane, "create", "token", "default").strip()
    whoami = kubectl(control_plane, "auth", "whoami", "--token", token)
    assert "system:serviceaccount:default:default" in whoami


def test_deleted_namespace_really_goes_away(control_plane: ControlPlane, kubectl: Kubectl) -> None:
    kubectl(control_plane, "create", "namespace", "short-lived")
    kubectl(control_plane, "create", "configmap", "content", "--namespace", "short-lived")
    kubectl(control_plane, "delete", "namespace", "short-lived", "--timeout=60s")
    assert "short-lived" not in kubectl(control_plane, "get", "namespaces")


def test_files_with_secrets_are_their_owners_alone(control_plane: ControlPlane) -> None:
    kubeconfigs = [f"{identity}.kubeconfig" for identity in IDENTITIES]
    for name in (*kubeconfigs, "tokens.csv", "certs/apiserver.key"):
        assert stat.S_IMODE((control_plane.data / name).stat().st_mode) == 0o600, name
    assert stat.S_IMODE(control_plane.data.stat().st_mode) == 0o700


def test_next_start_on_the_same_folder_finds_the_state_and_renews_an_old_certificate(
    tools: dict[str, Path], tmp_path: Path, kubectl: Kubectl
) -> None:
    folder = tmp_path / "plane"
    with ControlPlane(tools, folder) as first:
        assert set(first.pids) == {"guard", "etcd", "kube-apiserver", "kube-controller-manager"}
        kubectl(first, "create", "namespace", "kept")
        account_token = kubectl(first, "create", "token", "default").strip()
    assert first.pids == {}
    certificate = first.ca.read_bytes()
    with ControlPlane(tools, folder) as second:
        assert "kept" in kubectl(second, "get", "namespaces")
        assert second.token == first.token
        assert second.ca.read_bytes() == certificate
        assert "default:default" in kubectl(second, "auth", "whoami", "--token", account_token)
        assert (second.logs / "kube-apiserver.log.1").exists()
    a_year_ago = time.time() - 365 * 86400
    os.utime(first.ca, (a_year_ago, a_year_ago))
    with ControlPlane(tools, folder) as third:
        assert third.ca.read_bytes() != certificate
        assert "kept" in kubectl(third, "get", "namespaces")


def test_port_that_is_taken_in_between_is_replaced(
    tools: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kubectl: Kubectl
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        # The control plane chooses these ports in three attempts. First attempt: a port for the API server,
        # which is taken. Second attempt: a port for the API server, and a port for the controller manager,
        # which is taken. Third attempt: two free ports.
        is_taken = [True, False, True, False, False]
        real_free_port = loopback.free_port
        monkeypatch.setattr(controlplane, "free_port", lambda: port if is_taken.pop(0) else real_free_port())
        with ControlPlane(tools, tmp_path / "plane", is_throw_away=True) as plane:
            assert is_taken == []
            assert not plane.url.endswith(f":{port}")
            assert kubectl(plane, "get", "--raw", "/readyz") == "ok"
            before = plane.pids
            # The first ports of both processes are taken. The processes are restarted one after the other.
            is_taken += [True, True, *(False,) * 4]
            plane.start_nodes(tools)
            assert len(is_taken) == 2
            assert plane.pids.items() > before.items()
            assert plane.pids.keys() - before.keys() == {"kube-scheduler", "kwok"}


def test_start_is_given_up_when_its_port_is_taken_every_time(
    tools: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_errors, "START_ATTEMPTS", 3)
    apiserver = tmp_path / "kube-apiserver"
    apiserver.write_text(
        f"#!/bin/sh\necho x >> {tmp_path}/attempts\necho bind: address already in use\nexit 1\n"
    )
    apiserver.chmod(0o755)
    plane = ControlPlane({**tools, "kube-apiserver": apiserver}, tmp_path / "plane", is_throw_away=True)
    with pytest.raises(ControlPlaneError, match=r"(?s)kube-apiserver ended.*address already in use"):
        plane.start()
    assert (tmp_path / "attempts").read_text().count("x") == 3
    assert plane.pids == {}


def test_port_in_use_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    free = loopback.free_port()
    assert free in loopback.PORTS
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr(loopback, "PORTS", [taken.getsockname()[1]] * 9 + [free])
        assert loopback.free_port() == free


def test_folder_in_use_is_refused(
    control_plane: ControlPlane, tools: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(controlplane, "LOCK_TIMEOUT_S", 0)
    with pytest.raises(ControlPlaneError, match="in use by another control plane"):
        ControlPlane(tools, control_plane.data).start()


def test_process_that_ends_at_once_shows_its_exit_code_and_log(
    tools: dict[str, Path], tmp_path: Path
) -> None:
    broken = tmp_path / "kube-apiserver"
    broken.write_text("#!/bin/sh\necho this flag is unknown\nexit 3\n")
    broken.chmod(0o755)
    plane = ControlPlane({**tools, "kube-apiserver": broken}, tmp_path / "plane", is_throw_away=True)
    with pytest.raises(ControlPlaneError) as failure:
        plane.start()
    message = str(failure.value)
    assert "kube-apiserver ended with exit code 3" in message
    assert "this flag is unknown" in message
    assert plane.pids == {}


def test_unusable_etcd_folder_shows_the_log_of_etcd(tools: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "plane").mkdir()
    (tmp_path / "plane" / "etcd").write_text("not a folder")
    with pytest.raises(ControlPlaneError, match=r"(?s)etcd ended with exit code 1.*not a directory"):
        ControlPlane(tools, tmp_path / "plane").start()


def test_data_folder_that_is_a_file_is_named(tools: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "plane").write_text("not a folder")
    with pytest.raises(ControlPlaneError, match="plane"):
        ControlPlane(tools, tmp_path / "plane").start()


def test_binary_that_does_not_exist_is_named(tools: dict[str, Path], tmp_path: Path) -> None:
    missing = {**tools, "etcd": tmp_path / "no-such-binary"}
    with pytest.raises(ControlPlaneError, match=r"etcd cannot be started.*no-such-binary"):
        ControlPlane(missing, tmp_path / "plane").start()
