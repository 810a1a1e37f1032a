"""Prints all settings of one plan, and the types and models of AISessions."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import yaml
from rich.text import Text

from cli.output import console, print_table
from tenancy.base.model import Model
from tenancy.plans import Plans
from tenancy.spec.effective_settings import effective_settings
from tenancy.spec.settings import Settings, TenantSettings

# Settings that have a table of their own.
_TABLES: Final = ("quotas", "limits")


def plan_data(name: str, plans: Plans, tenants: Sequence[str]) -> dict[str, Any]:
    """The data for JSON and YAML: the plan's settings with all defaults, and the configuration of AISessions.

    `tenants` are the names of the tenants with this plan.
    """
    settings = _data(_effective(name, plans))
    # Keep null values, because `keepDays: null` differs from the default.
    sessions = plans.sessions.model_dump(by_alias=True, mode="json")
    return {"name": name, "tenants": list(tenants), "settings": settings, "sessions": sessions}


def print_plan(name: str, plans: Plans, tenants: Sequence[str]) -> None:
    settings = _effective(name, plans)
    console.print(Text(name, style="bold"))
    console.print(Text(f"Tenants  {len(tenants)}{': ' if tenants else ''}{', '.join(tenants)}"))
    values = {key: value for key, value in _data(settings).items() if value not in ([], {})}
    _section(
        "Settings",
        ("SETTING", "VALUE"),
        [(key, _text(value)) for key, value in values.items() if key not in _TABLES],
    )
    unset = [key for key in settings.model_dump(by_alias=True) if key not in values]
    console.print(Text(f"Not set: {', '.join(unset)}"))
    _section(
        "Quotas",
        ("QUOTA", "RESOURCE", "LIMIT"),
        [(quota.name, key, str(limit)) for quota in settings.quotas for key, limit in quota.hard.items()],
    )
    _print_limits(settings)
    _print_sessions(settings, plans)


def _effective(name: str, plans: Plans) -> TenantSettings:
    """The settings of a tenant that has this plan and overrides no setting."""
    return effective_settings(plans.plans[name], Settings())


def _print_limits(settings: TenantSettings) -> None:
    columns = (settings.limits.default_request, settings.limits.default, settings.limits.max)
    resources = dict.fromkeys(resource for column in columns for resource in column)
    _section(
        "Containers",
        ("RESOURCE", "DEFAULT REQUEST", "DEFAULT LIMIT", "MAXIMUM"),
        [(resource, *(str(column.get(resource, "-")) for column in columns)) for resource in resources],
    )


def _print_sessions(settings: TenantSettings, plans: Plans) -> None:
    config = plans.sessions
    _section(
        "Session types",
        ("TYPE", "DEFAULT MODEL", "IMAGE", "COMMAND", "ENV", "ANNOTATIONS", "SERVICE ACCOUNT"),
        [
            (
                name.value,
                entry.model,
                entry.image,
                " ".join((*entry.command, *entry.args)) or "-",
                _pairs(entry.env),
                _pairs(entry.annotations),
                entry.service_account,
            )
            for name, entry in config.types.items()
        ],
    )
    _section(
        "Models",
        ("MODEL", "IMAGE", "ENV", "ANNOTATIONS"),
        [
            (name, entry.image or "image of the type", _pairs(entry.env), _pairs(entry.annotations))
            for name, entry in config.models.items()
        ],
    )
    kept = "for ever" if config.keep_days is None else f"for {config.keep_days} days"
    console.print(
        Text(
            f"\nA tenant runs at most {settings.max_sessions} sessions at the same time. Ended sessions are "
            f"kept {kept}."
        )
    )


def _section(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    console.print(Text(f"\n{title}", style="bold"))
    if rows:
        print_table(columns, rows)
    else:
        console.print("none")


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items()) or "-"


def _text(value: Any) -> str:
    """The value as YAML on one line."""
    if isinstance(value, str):
        return value
    text: str = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")


def _data(model: Model) -> dict[str, Any]:
    return model.model_dump(by_alias=True, mode="json", exclude_none=True)
