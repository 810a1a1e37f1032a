"""Command lines and identities of the control plane's components.

Relative paths refer to the data folder, which is the working directory of all components.
"""

from pathlib import Path

ETCD_SOCKET = "etcd:1"
PEER_SOCKET = "peer:1"
CERTIFICATE = "certs/apiserver.crt"
KEY = "certs/apiserver.key"
TOKENS = "tokens.csv"
KWOK_CONFIG = Path(__file__).with_name("kwok.yaml")

# Identity -> (user, groups) in the API server's token file.
IDENTITIES = {
    "admin": ("admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    # Admission policies recognize writes by nodes by this group. nodes.yaml has the RBAC rules.
    "kwok": ("kwok", "system:nodes"),
}
ENVIRONMENT = {
    # Otherwise KWOK also reads the configuration in the user's home folder.
    "KWOK_WORKDIR": ".",
    # Less frequent garbage collection saves a quarter of the API server's CPU time for 240 MB (measured).
    "GOGC": "400",
}


def token_file_text(tokens: dict[str, str]) -> str:
    """The API server's token file, from the token of each identity."""
    lines = [f'{tokens[name]},{user},{user},"{groups}"\n' for name, (user, groups) in IDENTITIES.items()]
    return "".join(lines)


def kubeconfig_name(identity: str) -> str:
    return f"{identity}.kubeconfig"


def etcd_argv(binary: Path, *, is_throw_away: bool) -> list[str | Path]:
    client, peer = f"unix://{ETCD_SOCKET}", f"unix://{PEER_SOCKET}"
    argv: list[str | Path] = [
        binary,
        "--data-dir=etcd",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
    ]
    return [*argv, "--unsafe-no-fsync"] if is_throw_away else argv


def apiserver_argv(binary: Path, port: int) -> list[str | Path]:
    return [
        binary,
        f"--etcd-servers=unix://{ETCD_SOCKET}",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        "--advertise-address=127.0.0.1",
        # Endpoints cannot have loopback addresses, and no component uses the Service `kubernetes`.
        "--endpoint-reconciler-type=none",
        "--cert-dir=certs",
        "--authorization-mode=RBAC",
        f"--token-auth-file={TOKENS}",
        "--service-account-issuer=https://kubernetes.default.svc",
        # Sign tokens with the key of the self-signed certificate, so that there is only one key.
        f"--service-account-key-file={KEY}",
        f"--service-account-signing-key-file={KEY}",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--profiling=false",
    ]


def controller_manager_argv(binary: Path, port: int) -> list[str | Path]:
    return [
        binary,
        *_client_flags("kube-controller-manager", port),
        f"--root-ca-file={CERTIFICATE}",
        f"--service-account-private-key-file={KEY}",
        "--use-service-account-credentials",
        # Each controller first creates its own ServiceAccount, which takes 5 s at the default rate limit.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--concurrent-namespace-syncs=20",
        # The default is a folder under /usr.
        "--flex-volume-plugin-dir=flexvolume",
    ]


def scheduler_argv(binary: Path, port: int) -> list[str | Path]:
    return [binary, *_client_flags("kube-scheduler", port)]


def kwok_argv(binary: Path, port: int) -> list[str | Path]:
    return [
        binary,
        f"--kubeconfig={kubeconfig_name('kwok')}",
        f"--config={KWOK_CONFIG}",
        f"--server-address=127.0.0.1:{port}",
        # The kubelet address in the status of the nodes.
        "--node-ip=127.0.0.1",
        f"--node-port={port}",
        f"--tls-cert-file={CERTIFICATE}",
        f"--tls-private-key-file={KEY}",
    ]


def _client_flags(identity: str, port: int) -> list[str]:
    kubeconfig = kubeconfig_name(identity)
    return [
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--bind-address=127.0.0.1",
        f"--secure-port={port}",
        f"--tls-cert-file={CERTIFICATE}",
        f"--tls-private-key-file={KEY}",
        "--profiling=false",
    ]
