"""The product under test: a cluster with administrator access, and a watcher with its own rights."""

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

# Applies a tenant with the given name and spec, and returns its manifest.
NewTenant = Callable[..., Manifest]


def tenant_manifest(name: str, group: str = GROUP, **spec: Any) -> Manifest:
    return {
        "apiVersion": f"{group}/{VERSION}",
        "kind": "Tenant",
        "metadata": {"name": name},
        "spec": spec,
    }


class _PulumiWith(PulumiProcess):
    """The Pulumi CLI, run with the given environment variables instead of those of this process."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        super().__init__(timeout_s=240)
        self._environment = environment

    def run(self, args: list[str], cwd: str, additional_env: Mapping[str, str], *rest: Any) -> CommandResult:
        return super().run(args, cwd, {**self._environment, **additional_env}, *rest)


@dataclass
class Platform:
    """A cluster with the platform installed, a file backend for its stacks, and a watcher process."""

    admin: Cluster
    admin_kubeconfig: Path
    folder: Path
    environment: dict[str, str]
    process: "subprocess.Popen[bytes] | None" = None
    # The address the watcher binds to. Requests always go to the loopback address.
    host: str = HOST
    port: int = 0
    plans: str = ""
    logs: list[Path] = field(default_factory=list)
    # Test files for which `verify_and_delete` has already run a Pulumi preview.
    previewed_files: set[str] = field(default_factory=set)

    @classmethod
    def install(cls, kubeconfig: Path, path: str, folder: Path) -> "Platform":
        """Apply the platform's manifests. `path` is the PATH for the watcher and for `pulumi`."""
        install_platform(Cluster.connect(kubeconfig))
        platform = cls.not_installed(kubeconfig, path, folder)
        platform.write_watcher_kubeconfig()
        return platform

    @classmethod
    def not_installed(cls, kubeconfig: Path, path: str, folder: Path) -> "Platform":
        """A Platform on a cluster to which the platform's manifests have not been applied."""
        (folder / "state").mkdir()
        # The CLI writes stack settings next to the program. Tests that run in parallel share the checkout,
        # so each gets its own copy of the program.
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
            # Pulumi commands are short, so frequent garbage collection wastes CPU time.
            "GOGC": "400",
        }
        return cls(Cluster.connect(kubeconfig), kubeconfig, folder, environment)

    # The watcher

    def write_watcher_kubeconfig(self) -> None:
        """Write a kubeconfig with a token of the watcher's ServiceAccount."""
        write_watcher_kubeconfig(self.admin, self.admin_kubeconfig, Path(self.environment["KUBECONFIG"]))

    def ensure_started(self, *args: str) -> None:
        """Start the watcher unless it is running."""
        if self.process is None or self.process.poll() is not None:
            self.start(*args)

    def start(self, *args: str, **environment: str) -> None:
        """Start the watcher and wait until it is ready."""
        self.launch(*args, **environment)
        eventually(lambda: is_ok(self.port, "/readyz"), f"the watcher is ready; see {self.logs[-1]}")

    def launch(self, *args: str, **environment: str) -> None:
        """Start the watcher and wait until it serves HTTP, but not until it is ready."""
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
        """The port that the watcher listens on, or None until it logs the port."""
        assert self.process is not None
        assert self.process.poll() is None, self.logs[-1].read_text()
        addresses = [line["http"] for line in self.log() if line["message"] == "started"]
        return int(addresses[0].rpartition(":")[2]) if addresses else None

    def http_get(self, path: str) -> tuple[int, str]:
        """Send a GET request to the watcher, and return the status code and the body."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=30)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def metrics(self, name: str) -> dict[tuple[str, ...], float]:
        """The samples of a metric, keyed by their label values in the order of the label names."""
        samples = [
            sample
            for family in text_string_to_metric_families(self.http_get("/metrics")[1])
            for sample in family.samples
        ]
        return {tuple(sample.labels.values()): sample.value for sample in samples if sample.name == name}

    def stop(self) -> None:
        """Stop the watcher with SIGTERM, and check that it exits with code 0."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            assert self.process.wait(timeout=60) == 0, self.logs[-1].read_text()
            self.process = None

    def kill(self) -> None:
        """Kill the watcher and its child processes with SIGKILL, as a power failure would end them."""
        assert self.process is not None
        processes = [
            psutil.Process(self.process.pid),
            *psutil.Process(self.process.pid).children(recursive=True),
        ]
        for process in processes:
            process.kill()
        self.process.wait()
        self.process = None

    def log(self) -> Iterator[dict[str, Any]]:
        """The log entries of the watcher since its last start."""
        # A last line without a newline is still being written.
        for line in self.logs[-1].read_text().rpartition("\n")[0].splitlines():
            if line.startswith("{"):
                yield json.loads(line)

    def pulumi_run_count(self, operation: str = "", tenant: str = "") -> int:
        """The number of `pulumi` commands that the watcher has run since its last start.

        `operation` is a prefix of the command; by default, all commands except `pulumi stack ...` count.
        With `tenant`, only commands on its stack count: tenants of other tests may be reconciled meanwhile.
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
        """Run `pulumi` with administrator access in the project folder, as an operator does."""
        result = subprocess.run(
            ["pulumi", *args, "--stack", stack, "--non-interactive", "--color", "never"],
            cwd=self.folder / "project",
            env={**self.environment, "KUBECONFIG": str(self.admin_kubeconfig)},
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        # The CLI writes an encryption salt for the stack next to Pulumi.yaml. A later stack of the same
        # name has another salt.
        (self.folder / "project" / f"Pulumi.{stack}.yaml").unlink(missing_ok=True)
        return result

    def expect_no_changes(self, tenant: str) -> None:
        """Check that `pulumi preview` of the tenant's stack, with the watcher's plans, shows no changes."""
        plans = ("--config", f"tenancy:plans={self.plans}") if self.plans else ()
        preview = self.pulumi(f"tenant-{tenant}", "preview", "--diff", "--expect-no-changes", *plans)
        assert preview.returncode == 0, preview.stdout + preview.stderr

    def verify_and_delete(self, manifests: Iterable[Manifest]) -> None:
        """Check that each settled tenant has no change to apply, then delete the tenants without waiting.

        The check compares objects and state directly, which takes milliseconds. A Pulumi preview takes a
        second, so it runs only for the first settled tenant of each test file.
        """
        for manifest in manifests:
            if self.is_settled(manifest):
                self.expect_applied(manifest)
                file = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
                if file not in self.previewed_files:
                    self.previewed_files.add(file)
                    counts = self._stacks.preview(self._desired(manifest)).counts
                    assert counts.keys() == {"same"}, counts
            self.delete(manifest)

    def expect_applied(self, manifest: Manifest) -> None:
        """Wait until status, live objects and stack state match the desired state."""
        eventually(lambda: not self.differences(manifest), lambda: "\n".join(self.differences(manifest)))

    def differences(self, manifest: Manifest) -> list[str]:
        """The changes that an `up` of the tenant's stack would make, computed without `pulumi`."""
        tenant, desired = self.tenant(manifest) or {}, self._desired(manifest)
        live = {
            object_key(live_object): live_object
            for kind in (*MANAGED_KINDS, *served_kinds(self.admin))
            for live_object in self.admin.list(kind, tenant_selector(desired.tenant))[0]
        }
        applied_digest = tenant["status"].get("appliedDigest")
        return [
            *(
                []
                if applied_digest == desired.digest
                else [f"digest {applied_digest} is applied, not {desired.digest}"]
            ),
            *(f"{key}: {difference}" for key, difference in drift(desired, live).items()),
            *checkpoint_differences(desired, self.folder / "state"),
        ]

    def _desired(self, manifest: Manifest) -> DesiredState:
        """The desired state from the tenant's live spec and the watcher's plans."""
        tenant = self.tenant(manifest)
        assert tenant is not None
        plans = read_plans(Path(self.plans)) if self.plans else plans_in_force(self.admin)
        return desired_state(tenant_from_manifest(tenant), plans, served_kinds(self.admin))

    @cached_property
    def _stacks(self) -> Stacks:
        """The tenants' stacks, accessed with the administrator's kubeconfig."""
        environment = {**self.environment, "KUBECONFIG": str(self.admin_kubeconfig)}
        url = environment["PULUMI_BACKEND_URL"]
        stacks = Stacks(url, self.folder / "previews", _PulumiWith(environment))
        stacks.prepare()
        return stacks

    def is_settled(self, manifest: Manifest) -> bool:
        """Whether the watcher has applied the tenant's current generation successfully."""
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
        history = self.pulumi(f"tenant-{tenant}", "stack", "history", "--json")
        assert history.returncode == 0, history.stderr
        updates: list[dict[str, Any]] = json.loads(history.stdout)
        return updates

    # Tenants

    def apply(self, manifest: Manifest) -> Manifest:
        return self.admin.apply(manifest)

    def add(self, manifest: Manifest) -> Manifest:
        """Apply a tenant. If a tenant of the same name is being deleted, wait until it is gone first."""
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
        """Wait until the tenant is Active at its current generation, and return it."""

        def active_tenant() -> Manifest | None:
            tenant = self.tenant(manifest)
            status = (tenant or {}).get("status", {})
            is_current = tenant and status.get("observedGeneration") == tenant["metadata"]["generation"]
            return tenant if is_current and status.get("phase") == "Active" else None

        name = manifest["metadata"]["name"]
        return eventually(active_tenant, f"tenant {name} is Active; is {self.tenant(manifest)}")

    def await_condition(self, manifest: Manifest, reason: str, kind: str = "Ready") -> Manifest:
        """Wait until the tenant's condition of this type has the reason, and return the condition."""

        def matching_condition() -> Manifest | None:
            current = condition(self.tenant(manifest) or {}, kind)
            return current if current.get("reason") == reason else None

        return eventually(
            matching_condition, f"{kind} has reason {reason}; tenant is {self.tenant(manifest)}"
        )

    def await_gone(self, manifest: Manifest) -> None:
        eventually(lambda: self.tenant(manifest) is None, f"{manifest['metadata']['name']} is gone")

    def objects(self, tenant: str) -> dict[tuple[str, str, str], Manifest]:
        """The objects with the tenant's label, keyed by kind, namespace and name."""
        return {
            (kind.kind, item["metadata"].get("namespace", ""), item["metadata"]["name"]): item
            for kind in MANAGED_KINDS
            for item in self.admin.list(kind, f"{TENANT_LABEL}={tenant}")[0]
        }

    def events(self, tenant: str) -> list[tuple[str, str]]:
        """Reason and message of each Event about the tenant."""
        return [
            (event["reason"], event["message"])
            for event in self.admin.list(EVENT)[0]
            # `involvedObject.name` is optional.
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


def condition(manifest: Manifest, kind: str) -> Manifest:
    """The condition of this type in an object's status, or an empty dict."""
    conditions = manifest.get("status", {}).get("conditions", [])
    return next((entry for entry in conditions if entry["type"] == kind), {})
