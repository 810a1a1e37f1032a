"""The product as tests use it: an administrator's view of a cluster, and a watcher with its own rights."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import psutil
from prometheus_client.parser import text_string_to_metric_families
from pulumi.automation import CommandResult

from cluster.client import Cluster
from cluster.plans_in_force import plans_in_force
from cluster.served_kinds import served_kinds
from embedded.controlplane.loopback import HOST, is_ok
from embedded.run.install_platform import install_platform, write_watcher_kubeconfig
from stacks.command import PulumiProcess
from stacks.stack import Stacks
from tenancy.base.kinds import EVENT, KIND_BY_KEY, MANAGED_KINDS, NAMESPACE, kind_of
from tenancy.base.manifest import Manifest, object_key
from tenancy.base.names import GROUP, TENANT_LABEL, VERSION, tenant_selector
from tenancy.desired import DesiredState, desired_state
from tenancy.drift import drift
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from tests.checkpoint import checkpoint_differences
from tests.waiting import eventually

ROOT = Path(__file__).parent.parent

# Applies a tenant of this name and spec.
NewTenant = Callable[..., Manifest]


def tenant_manifest(name: str, group: str = GROUP, **spec: Any) -> Manifest:
    return {
        "apiVersion": f"{group}/{VERSION}",
        "kind": "Tenant",
        "metadata": {"name": name},
        "spec": spec,
    }


class _PulumiWith(PulumiProcess):
    """The CLI, with another environment than that of this process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(timeout_s=240)
        self._environment = environment

    def run(self, args: list[str], cwd: str, additional_env: Mapping[str, str], *rest: Any) -> CommandResult:
        return super().run(args, cwd, {**self._environment, **additional_env}, *rest)


@dataclass
class Platform:
    """A cluster with the platform installed, the state of its stacks, and a watcher to start and kill."""

    admin: Cluster
    admin_kubeconfig: Path
    folder: Path
    environment: dict[str, str]
    process: "subprocess.Popen[bytes] | None" = None
    # Where the watcher listens; it is asked on the loopback address in any case.
    host: str = HOST
    port: int = 0
    plans: str = ""
    logs: list[Path] = field(default_factory=list)
    # Test files at whose end the engine previewed a tenant.
    previewed: set[str] = field(default_factory=set)

    @classmethod
    def install(cls, kubeconfig: Path, path: str, folder: Path) -> "Platform":
        install_platform(Cluster.connect(kubeconfig))
        platform = cls.on(kubeconfig, path, folder)
        platform.identify()
        return platform

    @classmethod
    def on(cls, kubeconfig: Path, path: str, folder: Path) -> "Platform":
        """The same on a cluster where nothing is installed yet."""
        (folder / "state").mkdir()
        # The CLI writes settings of stacks beside the program; parallel tests share the checkout, not this.
        (folder / "project").mkdir()
        for file in ("Pulumi.yaml", "__main__.py"):
            shutil.copy(ROOT / file, folder / "project")
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PATH": path,
            "KUBECONFIG": str(folder / "watcher.kubeconfig"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "test",
            "PULUMI_HOME": str(folder / "pulumi"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            # Commands are short: collecting their garbage is not worth the CPU time.
            "GOGC": "400",
        }
        return cls(Cluster.connect(kubeconfig), kubeconfig, folder, environment)

    # The watcher

    def identify(self) -> None:
        """Gives the watcher the identity that the installed platform has for it."""
        write_watcher_kubeconfig(self.admin, self.admin_kubeconfig, Path(self.environment["KUBECONFIG"]))

    def ensure_started(self, *args: str) -> None:
        """Has the watcher running, whatever a test before did to it."""
        if self.process is None or self.process.poll() is not None:
            self.start(*args)

    def start(self, *args: str, **environment: str) -> None:
        self.launch(*args, **environment)
        eventually(lambda: is_ok(self.port, "/readyz"), f"the watcher is ready; see {self.logs[-1]}")

    def launch(self, *args: str, **environment: str) -> None:
        """Starts the watcher, and does not wait until it is ready to work."""
        self.plans = args[args.index("--plans") + 1] if "--plans" in args else ""
        self.logs.append(self.folder / f"watcher-{len(self.logs)}.log")
        with self.logs[-1].open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "watcher", "--log-level", "debug"),
                    *("--http", f"{self.host}:0", "--run-dir", str(self.folder / "run")),
                    *args,
                ],
                cwd=ROOT,
                env={**self.environment, **environment},
                stderr=log,
            )
        self.port = eventually(self._port, f"the watcher listens; see {self.logs[-1]}")
        eventually(lambda: is_ok(self.port, "/healthz"), f"the watcher answers; see {self.logs[-1]}")

    def _port(self) -> int | None:
        """The port that the watcher has taken; None before that."""
        assert self.process is not None
        assert self.process.poll() is None, self.logs[-1].read_text()
        addresses = [line["http"] for line in self.log() if line["message"] == "started"]
        return int(addresses[0].rpartition(":")[2]) if addresses else None

    def ask(self, path: str) -> tuple[int, str]:
        """The watcher's own answer over HTTP: its status and its text."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=30)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def metrics(self, name: str) -> dict[tuple[str, ...], float]:
        """The values of a metric by those of its labels, which Prometheus has in the order of their names."""
        samples = [
            sample
            for family in text_string_to_metric_families(self.ask("/metrics")[1])
            for sample in family.samples
        ]
        return {tuple(found.labels.values()): found.value for found in samples if found.name == name}

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(timeout=60) == 0, self.logs[-1].read_text()
            self.process = None

    def kill(self) -> None:
        """As a node that loses power: the watcher and all it has started, at once."""
        assert self.process is not None
        family = [
            psutil.Process(self.process.pid),
            *psutil.Process(self.process.pid).children(recursive=True),
        ]
        for member in family:
            member.kill()
        self.process.wait()
        self.process = None

    def log(self) -> Iterator[dict[str, Any]]:
        """What the watcher has logged since its last start."""
        # A last line without its end is still being written.
        for line in self.logs[-1].read_text().rpartition("\n")[0].splitlines():
            if line.startswith("{"):
                yield json.loads(line)

    def runs(self, operation: str = "", tenant: str = "") -> int:
        """How many commands of this operation the watcher has run since its last start.

        By default all that may change a stack. Other tests' tenants may be at work: count those of a tenant.
        """
        commands = [
            line["command"]
            for line in self.log()
            if line["message"] == "pulumi ran" and (not tenant or line["stack"] == f"tenant-{tenant}")
        ]
        if operation:
            return sum(command.startswith(operation) for command in commands)
        return sum(not command.startswith("stack ") for command in commands)

    def pulumi(self, stack: str, *args: str) -> "subprocess.CompletedProcess[str]":
        """As an operator would, in the project's folder."""
        told = subprocess.run(
            ["pulumi", *args, "--stack", stack, "--non-interactive", "--color", "never"],
            cwd=self.folder / "project",
            env={**self.environment, "KUBECONFIG": str(self.admin_kubeconfig)},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        # The CLI notes a salt for the stack beside Pulumi.yaml; the next one of this name has another.
        (self.folder / "project" / f"Pulumi.{stack}.yaml").unlink(missing_ok=True)
        return told

    def expect_no_changes(self, tenant: str) -> None:
        """An operator's preview of the tenant's stack, with the plans that the watcher has."""
        plans = ("--config", f"tenancy:plans={self.plans}") if self.plans else ()
        told = self.pulumi(f"tenant-{tenant}", "preview", "--diff", "--expect-no-changes", *plans)
        assert told.returncode == 0, told.stdout + told.stderr

    def end(self, manifests: Iterable[Manifest]) -> None:
        """Deletes tenants without waiting. One that is well, whatever was done to it, has no change to apply.

        The engine says so once per test file: a preview takes a second, the same comparison milliseconds.
        """
        for manifest in manifests:
            if self.is_settled(manifest):
                self.expect_applied(manifest)
                file = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
                if file not in self.previewed:
                    self.previewed.add(file)
                    counts = self._stacks.preview(self._desired(manifest)).counts
                    assert counts.keys() == {"same"}, counts
            self.delete(manifest)

    def expect_applied(self, manifest: Manifest) -> None:
        """The tenant's status, its objects and the stack's state have what its spec and plan ask for.

        Waits for a repair that is under way.
        """
        eventually(lambda: not self.differences(manifest), lambda: "\n".join(self.differences(manifest)))

    def differences(self, manifest: Manifest) -> list[str]:
        """What the tenant's stack has to change, computed without `pulumi`."""
        tenant, desired = self.tenant(manifest) or {}, self._desired(manifest)
        live = {
            object_key(found): found
            for kind in (*MANAGED_KINDS, *served_kinds(self.admin))
            for found in self.admin.list(kind, tenant_selector(desired.tenant))[0]
        }
        applied = tenant["status"].get("appliedDigest")
        return [
            *([] if applied == desired.digest else [f"digest {applied} is applied, not {desired.digest}"]),
            *(f"{key}: {fault}" for key, fault in drift(desired, live).items()),
            *checkpoint_differences(desired, self.folder / "state"),
        ]

    def _desired(self, manifest: Manifest) -> DesiredState:
        """What the tenant should be, by its spec and the plans that the watcher has."""
        tenant = self.tenant(manifest)
        assert tenant is not None
        plans = read_plans(Path(self.plans)) if self.plans else plans_in_force(self.admin)
        return desired_state(tenant_from_manifest(tenant), plans, served_kinds(self.admin))

    @cached_property
    def _stacks(self) -> Stacks:
        """The tenants' stacks, seen by an administrator."""
        environment = {**self.environment, "KUBECONFIG": str(self.admin_kubeconfig)}
        url = environment["PULUMI_BACKEND_URL"]
        stacks = Stacks(url, self.folder / "previews", _PulumiWith(environment))
        stacks.prepare()
        return stacks

    def is_settled(self, manifest: Manifest) -> bool:
        """Whether the watcher is done with the tenant as it is now, and all went well."""
        tenant = self.tenant(manifest)
        if tenant is None:
            return False
        status = tenant.get("status", {})
        return (
            self.process is not None
            and status.get("observedGeneration") == tenant["metadata"]["generation"]
            and condition(tenant, "Ready").get("reason") == "Applied"
        )

    def history(self, tenant: str) -> list[dict[str, Any]]:
        """The stack's updates, newest first."""
        told = self.pulumi(f"tenant-{tenant}", "stack", "history", "--json")
        assert told.returncode == 0, told.stderr
        updates: list[dict[str, Any]] = json.loads(told.stdout)
        return updates

    # Tenants

    def apply(self, manifest: Manifest) -> Manifest:
        return self.admin.apply(manifest)

    def add(self, manifest: Manifest) -> Manifest:
        """Apply a tenant, after the end of one of the same name that another test has deleted."""
        if "deletionTimestamp" in (self.tenant(manifest) or {"metadata": {}})["metadata"]:
            self.await_gone(manifest)
        return self.apply(manifest)

    def create(self, manifest: Manifest) -> Manifest:
        return self.admin.create(kind_of(manifest), manifest)

    def tenant(self, manifest: Manifest) -> Manifest | None:
        return self.admin.get(kind_of(manifest), manifest["metadata"]["name"])

    def delete(self, manifest: Manifest) -> None:
        self.admin.delete(kind_of(manifest), manifest["metadata"]["name"])

    def await_active(self, manifest: Manifest) -> Manifest:
        """The tenant, once it is Active at its newest generation."""

        def active() -> Manifest | None:
            tenant = self.tenant(manifest)
            status = (tenant or {}).get("status", {})
            is_current = tenant and status.get("observedGeneration") == tenant["metadata"]["generation"]
            return tenant if is_current and status.get("phase") == "Active" else None

        name = manifest["metadata"]["name"]
        return eventually(active, f"tenant {name} is Active; is {self.tenant(manifest)}")

    def await_condition(self, manifest: Manifest, reason: str, kind: str = "Ready") -> Manifest:
        """The tenant's condition, once it has this reason."""

        def found() -> Manifest | None:
            met = condition(self.tenant(manifest) or {}, kind)
            return met if met.get("reason") == reason else None

        return eventually(found, f"{kind} has reason {reason}; tenant is {self.tenant(manifest)}")

    def await_gone(self, manifest: Manifest) -> None:
        eventually(lambda: self.tenant(manifest) is None, f"{manifest['metadata']['name']} is gone")

    def objects(self, tenant: str) -> dict[tuple[str, str, str], Manifest]:
        """Everything that carries the tenant's label, by kind, namespace and name."""
        return {
            (kind.kind, found["metadata"].get("namespace", ""), found["metadata"]["name"]): found
            for kind in MANAGED_KINDS
            for found in self.admin.list(kind, f"{TENANT_LABEL}={tenant}")[0]
        }

    def events(self, tenant: str) -> list[tuple[str, str]]:
        """Reason and message of each Event about the tenant."""
        return [
            (event["reason"], event["message"])
            for event in self.admin.list(EVENT)[0]
            # Not every Event names its object.
            if event["involvedObject"].get("name") == tenant
        ]

    def get(self, kind: str, namespace: str, name: str) -> Manifest | None:
        return self.admin.get(KIND_BY_KEY[kind], name, namespace)

    def patch(self, kind: str, namespace: str, name: str, change: Manifest) -> None:
        self.admin.patch(KIND_BY_KEY[kind], name, change, namespace=namespace)

    def remove(self, kind: str, namespace: str, name: str) -> None:
        self.admin.delete(KIND_BY_KEY[kind], name, namespace)

    def namespace(self, name: str) -> Manifest | None:
        return self.admin.get(NAMESPACE, name)


def condition(tenant: Manifest, kind: str) -> Manifest:
    conditions = tenant.get("status", {}).get("conditions", [])
    return next((found for found in conditions if found["type"] == kind), {})
