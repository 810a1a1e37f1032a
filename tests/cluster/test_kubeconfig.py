"""The client reads kubeconfigs by the same rules as kubectl.

If a kubeconfig cannot be used, the error message contains no credentials.
"""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.client import Cluster
from cluster.connection.impersonation import Impersonation
from cluster.connection.kubeconfig import NoContext, read_context
from cluster.connection.proxy import Proxy, proxy_of_context, proxy_of_environment
from cluster.errors import ClusterError

SECRET = "s3cr3t"


def document(name: str = "dev", user: Any = None, cluster: Any = None) -> dict[str, Any]:
    """A kubeconfig with one context. The context, the cluster and the user have the same name."""
    return {
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "clusters": [{"name": name, "cluster": {"server": "https://api.example", **(cluster or {})}}],
        "users": [{"name": name, "user": {"token": SECRET, **(user or {})}}],
        "current-context": name,
    }


def write(file: Path, content: dict[str, Any]) -> Path:
    file.write_text(yaml.safe_dump(content))
    return file


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    variables = (
        "KUBECONFIG",
        "HTTPS_PROXY",
        "HTTP_PROXY",
        "NO_PROXY",
        "https_proxy",
        "http_proxy",
        "no_proxy",
    )
    for variable in (*variables, "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def rejection(file: Path, context: str | None = None) -> str:
    """The error message of a client that rejects the kubeconfig.

    Checks that the message contains no credentials.
    """
    with pytest.raises(ClusterError) as caught:
        Cluster.connect(file, context)
    assert SECRET not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("user", "cluster", "message"),
    [
        ({"as-groups": ["devs"]}, {}, "user 'dev': as: must be set, or use --as"),
        ({"as-uid": "1"}, {}, "user 'dev': as: must be set, or use --as"),
        ({"as-user-extra": {"team": ["a"]}}, {}, "user 'dev': as: must be set, or use --as"),
        ({"as": 7}, {}, "user 'dev': as: must be a string"),
        ({"as": "bob", "as-groups": "devs"}, {}, "user 'dev': as-groups: must be a list of strings"),
        ({"as": "bob", "as-user-extra": ["x"]}, {}, "user 'dev': as-user-extra: must be a map"),
        (
            {"as": "bob", "as-user-extra": {"x": "y"}},
            {},
            "user 'dev': as-user-extra.x: must be a list of strings",
        ),
        ({"as": "bob\r\nX: y"}, {}, "user 'dev': as: the impersonated user, its groups, UID and extra"),
        ({"as": "bob", "as-groups": ["a\nb"]}, {}, "user 'dev': as: the impersonated user, its groups"),
        ({"as-role": "x"}, {}, "user 'dev': as-role: tenancy does not support this field"),
        ({"auth-provider": {"name": "ldap"}}, {}, "user 'dev': auth-provider: tenancy does not support"),
        ({"tokenFile": "none"}, {}, "user 'dev': tokenFile: {folder}/none: No such file or directory"),
        ({"token": "", "username": "x"}, {}, "user 'dev': username: no credentials could be loaded"),
        (
            {},
            {"proxy-url": f"socks5://me:{SECRET}@x:1"},
            "cluster 'dev': proxy-url: tenancy does not support the",
        ),
        (
            {},
            {"proxy-url": "proxy.example"},
            "cluster 'dev': proxy-url: tenancy does not support a URL without a host",
        ),
        ({}, {"proxy-url": f"http://me:{SECRET}@x:y"}, "cluster 'dev': proxy-url: not a valid URL"),
        ({}, {"proxy": "http://x"}, "cluster 'dev': proxy: tenancy does not support this field"),
    ],
)
def test_field_that_cannot_be_used_is_rejected_with_file_context_and_field(
    user: dict[str, Any], cluster: dict[str, Any], message: str, tmp_path: Path
) -> None:
    file = write(tmp_path / "kubeconfig", document(user=user, cluster=cluster))
    expected = f"{file}: context 'dev': {message.replace('{folder}', str(tmp_path))}"
    assert rejection(file).startswith(expected)


def test_fields_without_effect_and_fields_of_other_contexts_are_accepted(tmp_path: Path) -> None:
    content = document(cluster={"disable-compression": True, "extensions": [], "proxy-url": ""})
    content["users"].append({"name": "other", "user": {"nonsense": 1}})
    Cluster.connect(write(tmp_path / "kubeconfig", content))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"current-context": "prod"}, "{file} has no context 'prod'; the available contexts are dev"),
        ({"current-context": None}, "{file} has no current-context; the available contexts are dev"),
        ({"users": []}, "{file}: context 'dev': user: there is no user 'dev'"),
        ({"clusters": None}, "{file}: context 'dev': cluster: there is no cluster 'dev'"),
        ({"users": [{"user": {"token": SECRET}}]}, "{file}: users: must be a list of maps, each with a name"),
        (
            {"users": [{"name": "dev", "user": SECRET}]},
            "{file}: context 'dev': user 'dev': user: must be a map",
        ),
    ],
)
def test_incomplete_kubeconfig_is_rejected(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = write(tmp_path / "kubeconfig", {**document(), **change})
    assert message.replace("{file}", str(file)) in rejection(file)


@pytest.mark.parametrize("text", [f"users: [{SECRET}", f"a: b\n{SECRET}: [x", SECRET, "\t"])
def test_file_that_is_no_kubeconfig_is_rejected_with_its_name(text: str, tmp_path: Path) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    assert str(file) in rejection(file)


def test_errors_of_the_client_library_contain_no_credentials(tmp_path: Path) -> None:
    oidc = {"name": "oidc", "config": {"refresh-token": SECRET}}
    file = write(tmp_path / "kubeconfig", document(user={"auth-provider": oidc}))
    assert "id-token" in rejection(file)
    missing = {"certificate-authority": "ca.crt"}
    assert f"{tmp_path}/ca.crt" in rejection(write(file, document(cluster=missing)))


def test_missing_file_is_rejected_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert f"{tmp_path}/none does not exist" in rejection(tmp_path / "none")
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    with pytest.raises(NoContext, match="no usable kubeconfig: /nowhere does not exist; set KUBECONFIG"):
        Cluster.connect()


def test_first_file_that_defines_a_name_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = {**document(user={"as": "first"}), "current-context": ""}
    first = write(tmp_path / "first", content)
    second = write(tmp_path / "second", document(user={"as": "second", "as-groups": ["devs"]}))
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join(["", str(tmp_path / "none"), str(first), str(second)]))
    context = read_context()
    assert context.files == (first, second)
    assert (context.name, context.impersonation) == ("dev", Impersonation("first"))


def test_home_folder_has_the_default_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config", document(user={"as": "bob"}))
    assert read_context().impersonation.user == "bob"


def test_broken_kubeconfig_is_not_replaced_by_the_service_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(write(tmp_path / "kubeconfig", document(user={"as-role": "x"}))))
    monkeypatch.setattr("kubernetes.config.load_incluster_config", lambda _: pytest.fail("loaded"))
    with pytest.raises(ClusterError, match="as-role"):
        Cluster.connect()


def test_credentials_are_not_sent_without_tls(tmp_path: Path) -> None:
    file = write(tmp_path / "kubeconfig", document(cluster={"server": "http://api.example"}))
    cluster = Cluster.connect(file)
    assert cluster._transport.api.configuration.auth_settings() == {}


def test_header_names_are_escaped_and_values_are_utf_8() -> None:
    extra = {"example.org/Team%": ("a", "b"), "ok-1": ("☃",)}
    assert Impersonation("jürgen", ("x", "y"), "", extra).headers() == [
        ("Impersonate-User", "j\xc3\xbcrgen"),
        ("Impersonate-Group", "x"),
        ("Impersonate-Group", "y"),
        ("Impersonate-Extra-example.org%2FTeam%25", "a"),
        ("Impersonate-Extra-example.org%2FTeam%25", "b"),
        ("Impersonate-Extra-ok-1", "\xe2\x98\x83"),
    ]


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://proxy.example:3128", Proxy("http://proxy.example:3128")),
        ("https://a%3Ab:c%40d@[::1]:1", Proxy("https://[::1]:1", "a:b:c@d")),
    ],
)
def test_credentials_are_separated_from_the_url_of_the_proxy(url: str, proxy: Proxy, tmp_path: Path) -> None:
    file = write(tmp_path / "kubeconfig", document(cluster={"proxy-url": url}))
    assert proxy_of_context(read_context(file).cluster) == proxy


@pytest.mark.parametrize(
    ("server", "variables", "url"),
    [
        ("https://api.example", {"HTTPS_PROXY": "proxy:1", "HTTP_PROXY": "http://other"}, "http://proxy:1"),
        ("https://api.example", {"https_proxy": "https://proxy"}, "https://proxy"),
        ("https://api.example", {"HTTP_PROXY": "http://other"}, None),
        ("http://api.example", {"HTTP_PROXY": "http://other"}, "http://other"),
        ("https://api.example:6443", {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "x, api.example"}, None),
        ("https://a.example", {"HTTPS_PROXY": "http://proxy", "no_proxy": ".example"}, None),
        ("https://10.1.2.3:6443", {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "10.0.0.0/8"}, None),
        ("https://10.1.2.3:6443", {"HTTPS_PROXY": "http://proxy", "NO_PROXY": "10.2.0.0/16"}, "http://proxy"),
        ("https://localhost:1", {"HTTPS_PROXY": "http://proxy"}, None),
        ("https://127.0.0.2:1", {"HTTPS_PROXY": "http://proxy"}, None),
        ("https://[::1]:1", {"HTTPS_PROXY": "http://proxy"}, None),
    ],
)
def test_proxy_of_the_environment_depends_on_the_server(
    server: str, variables: dict[str, str], url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    proxy = proxy_of_environment(server)
    assert (proxy and proxy.url) == url


def test_unsupported_proxy_of_the_environment_is_rejected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"socks5://me:{SECRET}@proxy")
    file = write(tmp_path / "kubeconfig", document())
    assert rejection(file).startswith("HTTPS_PROXY: tenancy does not support the proxy scheme 'socks5'")
