"""The command lines of the control plane's components, and the identities they use.

Pure: called by `plane.py`, which starts them. Every relative path is inside the data folder, the
working directory of all components.
"""

from pathlib import Path

ETCD_SOCKET = "etcd:1"
PEER_SOCKET = "peer:1"
CERTIFICATE = "certs/apiserver.crt"
KEY = "certs/apiserver.key"
TOKENS = "tokens.csv"
KWOK_CONFIG = Path(__file__).with_name("kwok.yaml")

# Name of the identity -> (user, groups) in the API server's token file.
IDENTITIES = {
    "admin": ("admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    # Nodes' writes are told by the group, in admission policies too. Its rights are in nodes.yaml.
    "kwok": ("kwok", "system:nodes"),
}
ENVIRONMENT = {
    # KWOK would add what it finds configured in the user's home to ours.
    "KWOK_WORKDIR": ".",
    # Collecting garbage less often saves the API server a quarter of its CPU time, for 240 MB (measured).
    "GOGC": "400",
}


def token_file(tokens: dict[str, str]) -> str:
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
        # Endpoints refuse loopback addresses, and nothing here dials the service `kubernetes`.
        "--endpoint-reconciler-type=none",
        "--cert-dir=certs",
        "--authorization-mode=RBAC",
        f"--token-auth-file={TOKENS}",
        "--service-account-issuer=https://kubernetes.default.svc",
        # The key of the certificate it makes for itself signs the tokens too: one key less to make and keep.
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
        # Each controller first makes its own service account: at the default rate that takes 5 s.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--concurrent-namespace-syncs=20",
        # By default it makes a folder under /usr.
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
        # Where the nodes say that their kubelet is.
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
