"""The `sessions` section of the plans file: the containers of AISessions, by session type and model."""

import re
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from tenancy.base.fields import DnsName, Image
from tenancy.base.model import Model
from tenancy.base.validation import raise_problems
from tenancy.spec.aisession import SessionType

# The prefix of the environment variables that the platform sets in every session.
RESERVED_ENV_PREFIX: Final = "AISESSION_"
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Arguments = Annotated[tuple[str, ...], Field(max_length=64)]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=253)]


def _check_env_names(env: dict[str, str]) -> dict[str, str]:
    raise_problems(((name,), problem) for name in env if (problem := _env_name_problem(name)))
    return env


def _env_name_problem(name: str) -> str | None:
    if not _ENV_NAME.fullmatch(name):
        return f"{name!r} must be the name of an environment variable, such as LOG_LEVEL"
    if name.startswith(RESERVED_ENV_PREFIX):
        return f"{name!r} is reserved: use a name that does not begin with {RESERVED_ENV_PREFIX}"
    return None


Env = Annotated[dict[str, str], Field(max_length=64), AfterValidator(_check_env_names)]
Annotations = Annotated[dict[str, str], Field(max_length=64)]


class TypeConfig(Model):
    """The container and the default model of all sessions of one type."""

    image: Image = Field(description="The image of the session's container.")
    command: Arguments = Field(
        default=(), description="The command of the container. Default: the entrypoint of the image."
    )
    args: Arguments = Field(default=(), description="The arguments of the command.")
    env: Env = Field(
        default_factory=dict,
        description="Environment variables of the container. Users who can read the Job can read these "
        "variables, so do not use them for secrets.",
    )
    annotations: Annotations = Field(
        default_factory=dict,
        description="Annotations of the session's pod.",
    )
    model: ModelName = Field(
        description="The name of the model that a session uses if the session does not set `aiModel`. The "
        "name must be a key of `models`.",
    )
    service_account: DnsName = Field(
        default="default",
        description="The service account of the session's pod. The service account must exist in the "
        "session's namespace.",
    )


class ModelConfig(Model):
    """Settings of sessions with this AI model. They extend or override the settings of the session type."""

    image: Image | None = Field(
        default=None,
        description="The image of the session's container. Default: the image of the session type.",
    )
    env: Env = Field(
        default_factory=dict,
        description="Environment variables of the container. They are added to the variables of the session "
        "type, and override variables with the same name.",
    )
    annotations: Annotations = Field(
        default_factory=dict,
        description="Annotations of the session's pod. They are added to the annotations of the session "
        "type, and override annotations with the same key.",
    )


class SessionsConfig(Model):
    """The configuration of AISessions. A session whose type is not configured stays Pending."""

    types: Mapping[SessionType, TypeConfig] = Field(
        default_factory=dict,
        description="The settings of each session type. The keys are the session types `analysis`, "
        "`automation` and `research`.",
    )
    keep_days: Annotated[int, Field(ge=1, le=3650)] | None = Field(
        default=30,
        description="The watcher deletes an AISession and its results this number of days after the "
        "AISession has ended, or earlier if the namespace has nearly reached its limit of AISessions. If the "
        "value is `null`, the watcher never deletes AISessions.",
    )
    models: Annotated[Mapping[ModelName, ModelConfig], Field(max_length=256)] = Field(
        default_factory=dict,
        description="The settings of each AI model. The keys are the names of the models. An AISession "
        "selects a model by its name in the field `aiModel`.",
    )

    @model_validator(mode="after")
    def _models_are_known(self) -> "SessionsConfig":
        known = ", ".join(sorted(self.models)) or "none"
        raise_problems(
            (("types", name.value, "model"), f"there is no model {config.model!r}; known: {known}")
            for name, config in self.types.items()
            if config.model not in self.models
        )
        return self
