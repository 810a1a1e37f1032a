"""Reads a context of the kubeconfig as kubectl does, and rejects fields that tenancy does not support.

The client library ignores impersonation, proxies and unknown fields. Without this module, the requests of the
library could have another identity than the requests of kubectl and of Pulumi's Kubernetes provider.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from cluster.connection.impersonation import Impersonation
from cluster.errors import ClusterError

# The fields that this package or the client library uses, and the fields that have no effect on requests.
_FIELDS: Final = {
    "cluster": frozenset(
        {
            *("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url"),
            *("certificate-authority", "certificate-authority-data", "disable-compression", "extensions"),
        }
    ),
    "user": frozenset(
        {
            *("client-certificate", "client-certificate-data", "client-key", "client-key-data"),
            *("token", "tokenFile", "username", "password", "auth-provider", "exec", "extensions"),
            *("as", "as-uid", "as-groups", "as-user-extra"),
        }
    ),
}
_AUTH_PROVIDERS: Final = ("azure", "gcp", "oidc")


class NoContext(ClusterError):
    """No kubeconfig file exists, or no file selects a context."""


@dataclass(frozen=True)
class Entry:
    """An entry of a kubeconfig file: a context, or the cluster or the user of a context."""

    file: Path
    context: str
    kind: str
    name: str
    fields: Mapping[str, Any]

    def error(self, field: str, problem: str) -> ClusterError:
        """Create an error about a field of this entry. `problem` must not contain credentials."""
        return ClusterError(
            f"{self.file}: context {self.context!r}: {self.kind} {self.name!r}: {field}: {problem}"
        )

    def text(self, field: str) -> str:
        """The value of a field. Empty if the field is not set.

        Raises ClusterError if the value is not a string.
        """
        value = self.fields.get(field)
        if not isinstance(value, str | None):
            raise self.error(field, "must be a string")
        return value or ""

    def texts(self, field: str, values: object) -> tuple[str, ...]:
        if not isinstance(values, list | None) or not all(isinstance(value, str) for value in values or ()):
            raise self.error(field, "must be a list of strings")
        return tuple(values or ())


@dataclass(frozen=True)
class Context:
    """A context of the kubeconfig, with its cluster and its user.

    `files` contains all kubeconfig files that were read. The context can refer to entries in several of them.
    """

    name: str
    files: tuple[Path, ...]
    cluster: Entry
    user: Entry

    @property
    def impersonation(self) -> Impersonation:
        """The user to impersonate, from the fields `as`, `as-groups`, `as-uid` and `as-user-extra`.

        Raises ClusterError if one of these fields has the wrong type.
        """
        extra = self.user.fields.get("as-user-extra") or {}
        if not isinstance(extra, dict) or not all(isinstance(key, str) for key in extra):
            raise self.user.error("as-user-extra", "must be a map from strings to lists of strings")
        return Impersonation(
            self.user.text("as"),
            self.user.texts("as-groups", self.user.fields.get("as-groups")),
            self.user.text("as-uid"),
            {key: self.user.texts(f"as-user-extra.{key}", values) for key, values in extra.items()},
        )


def read_context(kubeconfig: Path | None = None, context: str | None = None) -> Context:
    """Read a context of the kubeconfig. By default, read the current context of kubectl's kubeconfig.

    If several files in KUBECONFIG have an entry with the same name, the entry in the first of these files is
    used, as in kubectl. Raises NoContext if there is no file, or if no context is given and no file has a
    current context. Raises ClusterError if the context is invalid or has a field that is not supported.
    """
    files = (kubeconfig,) if kubeconfig else _default_files()
    documents = {file.absolute(): document for file in files if (document := _document(file)) is not None}
    if not documents:
        raise NoContext(
            f"no usable kubeconfig: {_names(files)} does not exist; set KUBECONFIG to an existing file"
        )
    current = (document.get("current-context") for document in documents.values())
    name = context or next(filter(None, current), None)
    contexts = [entry["name"] for document in documents.values() for entry in document["contexts"]]
    available = f"the available contexts are {', '.join(dict.fromkeys(contexts)) or '(none)'}"
    if not name:
        raise NoContext(f"no usable kubeconfig: {_names(files)} has no current-context; {available}")
    if name not in contexts:
        raise ClusterError(f"no usable kubeconfig: {_names(files)} has no context {name!r}; {available}")
    selected = _entry(documents, name, "context", name)
    cluster = _entry(documents, name, "cluster", selected.text("cluster"))
    # Requests of a context without a user are anonymous.
    user = _entry(documents, name, "user", selected.text("user")) if selected.text("user") else None
    return Context(name, tuple(documents), cluster, user or Entry(selected.file, name, "user", "", {}))


def _default_files() -> tuple[Path, ...]:
    if variable := os.environ.get("KUBECONFIG"):
        return tuple(Path(file) for file in dict.fromkeys(variable.split(os.pathsep)) if file)
    return (Path.home() / ".kube" / "config",)


def _names(files: tuple[Path, ...]) -> str:
    return ", ".join(map(str, files))


def _document(file: Path) -> dict[str, Any] | None:
    """The kubeconfig in the file, or None if the file does not exist.

    The result always has the lists `clusters`, `users` and `contexts`, and each entry in them is a map with a
    name. Raises ClusterError if the file is invalid.
    """
    try:
        with file.open(encoding="utf-8") as stream:
            document = yaml.safe_load(stream) or {}
    except FileNotFoundError:
        return None
    except yaml.YAMLError as error:
        # The error's own text could contain a part of the file.
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise ClusterError(f"no usable kubeconfig: {file}{line}: not valid YAML") from None
    except (OSError, UnicodeDecodeError) as error:
        problem = getattr(error, "strerror", None) or "not UTF-8"
        raise ClusterError(f"no usable kubeconfig: {file}: {problem}") from None
    if not isinstance(document, dict):
        raise ClusterError(f"no usable kubeconfig: {file}: must be a map")
    for key in ("clusters", "users", "contexts"):
        entries = document.setdefault(key, None) or []
        if not isinstance(entries, list) or not all(
            isinstance(entry, dict) and isinstance(entry.get("name"), str) for entry in entries
        ):
            raise ClusterError(
                f"no usable kubeconfig: {file}: {key}: must be a list of maps, each with a name"
            )
        document[key] = entries
    return document


def _entry(documents: Mapping[Path, dict[str, Any]], context: str, kind: str, name: str) -> Entry:
    """The first entry of this kind with this name. `kind` is `context`, `cluster` or `user`.

    Raises ClusterError if there is no such entry, or if it has a field that is not supported.
    """
    for file, document in documents.items():
        for item in document[f"{kind}s"]:
            if item["name"] != name:
                continue
            fields = item.get(kind) or {}
            entry = Entry(file, context, kind, name, fields)
            if not isinstance(fields, dict):
                raise entry.error(kind, "must be a map")
            for field in sorted(fields.keys() - _FIELDS.get(kind, fields.keys()), key=str):
                raise entry.error(
                    field, "tenancy does not support this field; remove it, or use another --context"
                )
            _check_auth_provider(entry)
            return entry
    raise ClusterError(
        f"{_names(tuple(documents))}: context {context!r}: {kind}: there is no {kind} {name!r}"
    )


def _check_auth_provider(entry: Entry) -> None:
    provider = entry.fields.get("auth-provider") or {}
    name = provider.get("name") if isinstance(provider, dict) else None
    if provider and name not in _AUTH_PROVIDERS:
        raise entry.error("auth-provider", f"tenancy does not support {name!r}; use `exec` instead")
