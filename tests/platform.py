"""The product under test: a cluster, and a watcher with its own rights. Tests have administrator access."""

import os
import shutil
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli.apply.field_ownership import APPLY_MANAGER
from cluster.client import Cluster
from cluster.errors import ClusterError
from cluster.plans_in_force import plans_in_force
from cluster.served_kinds import served_kinds
from embedded.run.install_platform import install_platform, write_watcher_kubeconfig
from tenancy.base.kinds import MANAGED_KINDS, kind_of
from tenancy.base.labels import tenant_selector
from tenancy.base.manifest import Manifest, object_key
from tenancy.base.names import GROUP, VERSION
from tenancy.desired import DesiredState, desired_state
from tenancy.drift import drift
from tenancy.plans import read_plans
from tenancy.spec.tenant import tenant_from_manifest
from tests.checkpoint import checkpoint_differences
from tests.live_objects import LiveObjects
from tests.stack_commands import StackCommands
from tests.waiting import eventually
from tests.watcher_process import WatcherProcess

ROOT = Path(__file__).parent.parent

# Secrets in the watcher's environment. `tests/watcher/test_canaries.py` searches all outputs for them.
CANARIES = {
    "PULUMI_CONFIG_PASSPHRASE": "canary-of-the-passphrase",
    "PULUMI_ACCESS_TOKEN": "canary-of-the-pulumi-token",
    "AWS_ACCESS_KEY_ID": "canary-of-the-s3-key-id",
    "AWS_SECRET_ACCESS_KEY": "canary-of-the-s3-key",
    "DATABASE_PASSWORD": "canary-of-the-environment",
}

# A function that applies a Tenant with the given name and spec, and returns the Tenant's manifest.
NewTenant = Callable[..., Manifest]


def tenant_manifest(name: str, group: str = GROUP, **spec: Any) -> Manifest:
    return {
        "apiVersion": f"{group}/{VERSION}",
        "kind": "Tenant",
        "metadata": {"name": name},
        "spec": spec,
    }


@dataclass(kw_only=True)
class Platform(WatcherProcess, StackCommands, LiveObjects):
    """A cluster with the platform, a file backend for the stacks, and a watcher process."""

    # The test files for which `verify_and_abandon` has already run a Pulumi preview.
    previewed_files: set[str] = field(default_factory=set)

    @classmethod
    def install(cls, kubeconfig: Path, path: str, folder: Path) -> "Platform":
        """Install the platform in a cluster. `path` is the PATH of the watcher and of `pulumi`."""
        install_platform(Cluster.connect(kubeconfig))
        platform = cls.not_installed(kubeconfig, path, folder)
        platform.write_watcher_kubeconfig()
        return platform

    @classmethod
    def not_installed(cls, kubeconfig: Path, path: str, folder: Path) -> "Platform":
        """Like `install`, but without applying the platform's manifests."""
        (folder / "state").mkdir()
        # The Pulumi CLI writes stack settings next to the program. Workers run in parallel and share the
        # checkout, so each Platform has its own copy of the program.
        (folder / "project").mkdir()
        for file in ("Pulumi.yaml", "__main__.py"):
            shutil.copy(ROOT / file, folder / "project")
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PATH": path,
            "KUBECONFIG": str(folder / "watcher.kubeconfig"),
            "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
            **CANARIES,
            "PULUMI_HOME": str(folder / "pulumi"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            # Pulumi commands are short. Frequent garbage collection would waste CPU time, and so would saving
            # the state after each resource.
            "GOGC": "400",
            "PULUMI_SKIP_CHECKPOINTS": "true",
        }
        return cls(
            admin=Cluster.connect(kubeconfig),
            admin_kubeconfig=kubeconfig,
            folder=folder,
            environment=environment,
        )

    def write_watcher_kubeconfig(self) -> None:
        """Write a kubeconfig with a token of the watcher's ServiceAccount."""
        write_watcher_kubeconfig(self.admin, self.admin_kubeconfig, Path(self.environment["KUBECONFIG"]))

    # Comparison with the desired state

    def expect_no_changes(self, tenant: str) -> None:
        """Check that `pulumi preview` of the tenant's stack, with the watcher's plans, shows no changes."""
        plans = ("--config", f"tenancy:plans={self.plans}") if self.plans else ()
        preview = self.pulumi(f"tenant-{tenant}", "preview", "--diff", "--expect-no-changes", *plans)
        assert preview.returncode == 0, preview.stdout + preview.stderr

    def verify_and_abandon(self, manifests: Iterable[Manifest]) -> None:
        """Check that the stack of each settled tenant is up to date, and then abandon all tenants.

        The check compares the objects and the state without Pulumi, which takes milliseconds. A Pulumi
        preview takes a second, so it runs only for the first settled tenant of each test file.
        """
        for manifest in manifests:
            if self.is_settled(manifest):
                self.expect_applied(manifest)
                file = os.environ["PYTEST_CURRENT_TEST"].partition("::")[0]
                if file not in self.previewed_files:
                    self.previewed_files.add(file)
                    counts = self.stacks.preview(self._desired(manifest)).counts
                    assert counts.keys() == {"same"}, counts
            self.abandon(manifest)

    def expect_applied(self, manifest: Manifest) -> None:
        """Wait until the Tenant's status, the live objects and the stack's state match the desired state."""
        eventually(lambda: not self.differences(manifest), lambda: "\n".join(self.differences(manifest)))

    def differences(self, manifest: Manifest) -> list[str]:
        """The differences of the status, live objects and stack state from the desired state."""
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
            *(f"{key}: {difference}" for key, difference in drift(desired.by_key, live).items()),
            *checkpoint_differences(desired, self.folder / "state"),
        ]

    def _desired(self, manifest: Manifest) -> DesiredState:
        """The desired state, computed from the live Tenant's spec and the watcher's plans."""
        tenant = self.tenant(manifest)
        assert tenant is not None
        plans = read_plans(Path(self.plans)) if self.plans else plans_in_force(self.admin)
        return desired_state(tenant_from_manifest(tenant), plans, served_kinds(self.admin))

    def is_settled(self, manifest: Manifest) -> bool:
        """Whether the watcher is running and has successfully applied the Tenant's current generation."""
        tenant = self.tenant(manifest)
        if tenant is None:
            return False
        status = tenant.get("status", {})
        return (
            self.process is not None
            and status.get("observedGeneration") == tenant["metadata"]["generation"]
            and condition(tenant, "Ready").get("reason") == "Applied"
        )

    # Tenants

    def apply(self, manifest: Manifest) -> Manifest:
        """Apply an object with the field manager of `tenancy apply`."""
        return self.admin.apply(manifest, field_manager=APPLY_MANAGER)

    def add(self, manifest: Manifest) -> Manifest:
        """Apply a Tenant. If a Tenant with this name is being deleted, first wait until it is deleted."""
        if "deletionTimestamp" in (self.tenant(manifest) or {"metadata": {}})["metadata"]:
            self.await_gone(manifest)
        return self.apply(manifest)

    def create(self, manifest: Manifest) -> Manifest:
        return self.admin.create(kind_of(manifest), manifest)

    def tenant(self, manifest: Manifest) -> Manifest | None:
        return self.admin.get(kind_of(manifest), manifest["metadata"]["name"])

    def delete(self, manifest: Manifest) -> None:
        self.admin.delete(kind_of(manifest), manifest["metadata"]["name"])

    def abandon(self, manifest: Manifest) -> None:
        """Delete the Tenant, but keep its namespaces and its stack.

        Most tests do not test a deletion. Destroying the stack and deleting the namespaces would take more
        CPU time than the test itself.
        """
        kind, name = kind_of(manifest), manifest["metadata"]["name"]
        # The watcher does not destroy the stack of a paused tenant.
        change = {"metadata": {"finalizers": []}, "spec": {"paused": True}}

        def is_gone() -> bool:
            if self.tenant(manifest) is None:
                return True
            with suppress(ClusterError):
                self.admin.patch(kind, name, change)
            self.delete(manifest)
            return self.tenant(manifest) is None

        eventually(is_gone, f"{name} is gone; is {self.tenant(manifest)}")

    def await_active(self, manifest: Manifest) -> Manifest:
        """Wait until the Tenant's current generation is Active, and return the live Tenant."""

        def active_tenant() -> Manifest | None:
            tenant = self.tenant(manifest)
            status = (tenant or {}).get("status", {})
            is_current = tenant and status.get("observedGeneration") == tenant["metadata"]["generation"]
            return tenant if is_current and status.get("phase") == "Active" else None

        name = manifest["metadata"]["name"]
        return eventually(active_tenant, f"tenant {name} is Active; is {self.tenant(manifest)}")

    def await_condition(self, manifest: Manifest, reason: str, kind: str = "Ready") -> Manifest:
        """Wait until the Tenant's condition of type `kind` has this reason, and return the condition."""

        def matching_condition() -> Manifest | None:
            current = condition(self.tenant(manifest) or {}, kind)
            return current if current.get("reason") == reason else None

        return eventually(
            matching_condition, f"{kind} has reason {reason}; tenant is {self.tenant(manifest)}"
        )

    def await_gone(self, manifest: Manifest) -> None:
        eventually(lambda: self.tenant(manifest) is None, f"{manifest['metadata']['name']} is gone")


def condition(manifest: Manifest, kind: str) -> Manifest:
    """The condition of type `kind` in an object's status, or an empty dict."""
    conditions = manifest.get("status", {}).get("conditions", [])
    return next((entry for entry in conditions if entry["type"] == kind), {})
