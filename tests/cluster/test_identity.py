"""The API server identifies the client as the user in the kubeconfig, even if the client uses a proxy."""

import os
import socket
import ssl
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.client import Cluster
from cluster.connection.impersonation import Impersonation
from cluster.errors import ClusterError
from embedded.controlplane.kubeconfig import write_kubeconfig
from embedded.controlplane.loopback import HOST
from embedded.controlplane.plane import ControlPlane
from tenancy.base.kinds import NAMESPACE
from tests.cluster.connect_proxy import connect_proxy
from tests.kubeconfigs import changed_kubeconfig, identity

BOB: dict[str, Any] = {
    "as": "bob",
    "as-groups": ["devs", "on call"],
    "as-uid": "8f1c",
    "as-user-extra": {"example.org/Team%": ["blue", "grün"]},
}
GROUPS = ["devs", "on call", "system:authenticated"]


def as_user(control_plane: ControlPlane, folder: Path, **user: Any) -> Path:
    return changed_kubeconfig(control_plane.kubeconfig, folder / "kubeconfig", user)


def test_user_group_uid_and_extra_of_the_kubeconfig_are_sent(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    cluster = Cluster.connect(as_user(control_plane, tmp_path, **BOB))
    assert identity(cluster) == {
        "username": "bob",
        "groups": GROUPS,
        "uid": "8f1c",
        "extra": {"example.org/team%": ["blue", "grün"]},
    }


def test_user_name_outside_of_ascii_is_sent_as_utf_8(control_plane: ControlPlane, tmp_path: Path) -> None:
    cluster = Cluster.connect(as_user(control_plane, tmp_path, **{"as": "jürgen ☃"}))
    assert identity(cluster)["username"] == "jürgen ☃"


def test_options_replace_single_fields_of_the_kubeconfig(control_plane: ControlPlane, tmp_path: Path) -> None:
    kubeconfig = as_user(control_plane, tmp_path, **BOB)
    assert identity(Cluster.connect(kubeconfig, impersonation=Impersonation("alice")))["groups"] == GROUPS
    other = identity(Cluster.connect(kubeconfig, impersonation=Impersonation(groups=("ops",))))
    assert (other["username"], other["groups"]) == ("bob", ["ops", "system:authenticated"])
    other = identity(Cluster.connect(kubeconfig, impersonation=Impersonation(uid="77")))
    assert (other["username"], other["uid"]) == ("bob", "77")


def test_watch_has_the_same_identity(control_plane: ControlPlane, tmp_path: Path) -> None:
    cluster = Cluster.connect(as_user(control_plane, tmp_path, **{"as": "nobody-special"}))
    with pytest.raises(ClusterError, match='User "nobody-special" cannot watch'):
        next(cluster.watch(NAMESPACE, "0"))


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_requests_go_through_the_proxy_of_the_kubeconfig(
    scheme: str, control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Like kubectl, the client ignores NO_PROXY if the kubeconfig sets a proxy.
    monkeypatch.setenv("NO_PROXY", "*")
    tls = None
    if scheme == "https":
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(control_plane.ca, control_plane.ca.with_suffix(".key"))
    with connect_proxy(tls) as proxy:
        url = f"{scheme}://me:p%40ss@{HOST}:{proxy.port}"
        kubeconfig = changed_kubeconfig(
            control_plane.kubeconfig, tmp_path / "kubeconfig", {"as": "bob"}, {"proxy-url": url}
        )
        assert identity(Cluster.connect(kubeconfig))["username"] == "bob"
    assert proxy.targets == [control_plane.url.removeprefix("https://")]
    assert proxy.authorizations == ["Basic bWU6cEBzcw=="]


def test_unreachable_proxy_is_an_error_without_its_password(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
    kubeconfig = changed_kubeconfig(
        control_plane.kubeconfig,
        tmp_path / "kubeconfig",
        cluster={"proxy-url": f"http://me:hunter2@{HOST}:{port}"},
    )
    with pytest.raises(ClusterError, match=r"no answer from the API server: .*proxy") as caught:
        Cluster.connect(kubeconfig).version()
    assert "hunter2" not in str(caught.value)


def test_proxy_of_the_environment_is_not_used_for_a_loopback_address(
    control_plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"):
        monkeypatch.setenv(variable, f"http://{HOST}:1")
    Cluster.connect(control_plane.kubeconfig).version()


def test_tls_server_name_is_compared_with_the_certificate(
    control_plane: ControlPlane, tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    right = {"tls-server-name": "kubernetes.default.svc"}
    Cluster.connect(changed_kubeconfig(control_plane.kubeconfig, path, cluster=right)).version()
    wrong = {"tls-server-name": "other.example"}
    with pytest.raises(ClusterError, match=r"other\.example"):
        Cluster.connect(changed_kubeconfig(control_plane.kubeconfig, path, cluster=wrong)).version()


def test_token_file_replaces_the_token_and_is_read_again(control_plane: ControlPlane, tmp_path: Path) -> None:
    document = yaml.safe_load(control_plane.kubeconfig.read_text())
    token = document["users"][0]["user"]["token"]
    file = tmp_path / "token"
    file.write_text("expired\n")
    document["users"][0]["user"]["tokenFile"] = "token"
    write_kubeconfig(tmp_path / "kubeconfig", document)
    cluster = Cluster.connect(tmp_path / "kubeconfig")
    with pytest.raises(ClusterError, match="Unauthorized"):
        cluster.version()
    file.write_text(f"{token}\n")
    assert identity(cluster)["groups"] == identity(Cluster.connect(control_plane.kubeconfig))["groups"]
    file.unlink()
    cluster.version()


def test_exec_plugin_provides_the_credentials_or_an_error(
    control_plane: ControlPlane, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    document = yaml.safe_load(control_plane.kubeconfig.read_text())
    token = document["users"][0]["user"]["token"]
    version = "client.authentication.k8s.io/v1"
    plugin = tmp_path / "plugin"
    reply = f'{{"apiVersion": "{version}", "kind": "ExecCredential", "status": {{"token": "{token}"}}}}'
    plugin.write_text(f"#!/bin/sh\necho '{reply}'\n")
    plugin.chmod(plugin.stat().st_mode | stat.S_IXUSR)
    execute = {"command": str(plugin), "apiVersion": version, "interactiveMode": "Never"}
    document["users"][0]["user"] = {"exec": execute, "as": "bob"}
    write_kubeconfig(tmp_path / "kubeconfig", document)
    assert identity(Cluster.connect(tmp_path / "kubeconfig"))["username"] == "bob"
    plugin.write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(ClusterError, match=r"context 'embedded': user 'embedded': exec: no credentials"):
        Cluster.connect(tmp_path / "kubeconfig")
    assert "process returned 3" in caplog.text


def test_current_context_is_that_of_the_first_file(
    control_plane: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = []
    for name in ("first", "second"):
        document = yaml.safe_load(control_plane.kubeconfig.read_text().replace("embedded", name))
        document["users"][0]["user"]["as"] = name
        write_kubeconfig(tmp_path / name, document)
        names.append(str(tmp_path / name))
    # On its own, the client library would use the current context of the last file.
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["/nowhere", *names]))
    assert identity(Cluster.connect())["username"] == "first"
    assert identity(Cluster.connect(context="second"))["username"] == "second"
