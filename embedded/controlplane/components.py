"""The command lines of the control plane's components, and the identities in the API server's token file.

Each identity has a user name and groups. All components run in the data folder of the control plane. Relative
paths refer to this folder.
"""

from pathlib import Path

ETCD_SOCKET = "etcd:1"
PEER_SOCKET = "peer:1"
CERTIFICATE = "certs/apiserver.crt"
KEY = "certs/apiserver.key"
TOKENS = "tokens.csv"
KWOK_CONFIG = Path(__file__).with_name("kwok.yaml")

# The controller that checks the types in the CEL expressions of admission policies.
POLICY_TYPE_CHECKER = "validatingadmissionpolicy-status-controller"

SERVICE_NETWORK = "10.96.0.0/16"
# The network of Services, and the network of pods. Each node in nodes.yaml has a part of the pod network.
CLUSTER_NETWORKS = (SERVICE_NETWORK, "10.244.0.0/16")

# The user and the groups of each identity in the API server's token file.
IDENTITIES = {
    "admin": ("admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    # Because of this group, the admission policies treat writes by KWOK like writes by a kubelet. The RBAC
    # rules for KWOK are in nodes.yaml.
    "kwok": ("kwok", "system:nodes"),
}
ENVIRONMENT = {
    # Without this variable, KWOK also reads the configuration in the user's home folder.
    "KWOK_WORKDIR": ".",
    # With this value, Go's garbage collection runs less often. In a measurement, the API server used a
    # quarter less CPU time and 240 MB more memory.
    "GOGC": "400",
}


def token_file_text(tokens: dict[str, str]) -> str:
    """The content of the API server's token file. `tokens` maps the name of each identity to its token."""
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
        # Do not create endpoints for the Service `kubernetes`. They cannot have loopback addresses, and no
        # component uses this Service.
        "--endpoint-reconciler-type=none",
        "--cert-dir=certs",
        "--authorization-mode=RBAC",
        f"--token-auth-file={TOKENS}",
        "--service-account-issuer=https://kubernetes.default.svc",
        # Sign ServiceAccount tokens with the key of the self-signed certificate, so that no second key is
        # needed.
        f"--service-account-key-file={KEY}",
        f"--service-account-signing-key-file={KEY}",
        f"--service-cluster-ip-range={SERVICE_NETWORK}",
        # Allow privileged pods, as most clusters do. Then only Pod Security rejects them.
        "--allow-privileged=true",
        "--profiling=false",
    ]


def controller_manager_argv(binary: Path, port: int, *, is_throw_away: bool) -> list[str | Path]:
    # This controller writes warnings about types to the status of admission policies. For the platform's
    # policies, it needs 5 s of CPU time, as much as all other components need to start.
    controllers = f"*,-{POLICY_TYPE_CHECKER}" if is_throw_away else "*"
    return [
        binary,
        *_client_flags("kube-controller-manager", port),
        f"--root-ca-file={CERTIFICATE}",
        f"--service-account-private-key-file={KEY}",
        "--use-service-account-credentials",
        f"--controllers={controllers}",
        # At the start, each controller creates a ServiceAccount for itself. With the default rate limit, this
        # takes 5 s.
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        "--concurrent-namespace-syncs=20",
        # The default is a folder under /usr, where this user possibly has no write access.
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
        # KWOK writes this address as the kubelet's address to the status of the nodes.
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
