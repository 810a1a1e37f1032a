"""What runs an AISession: image, command and environment by its type and its model.

Part of the plans file, so it is checked and reloaded with it. The Job itself is made in
`tenancy.sessions.job`.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from tenancy.base.fields import DnsName
from tenancy.base.model import Model
from tenancy.spec.aisession import SessionType

# Before the names of what every session is told by the platform.
RESERVED_ENV: Final = "AISESSION_"
_ENV_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Image = Annotated[str, StringConstraints(pattern=r"^[^\s]+$", max_length=512)]
Words = Annotated[tuple[str, ...], Field(max_length=64)]
ModelName = Annotated[str, StringConstraints(min_length=1, max_length=253)]


def _own_names(env: dict[str, str]) -> dict[str, str]:
    for name in env:
        if not _ENV_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of an environment variable such as LOG_LEVEL")
        if name.startswith(RESERVED_ENV):
            raise ValueError(f"{name!r} is reserved: no name here may begin with {RESERVED_ENV}")
    return env


Env = Annotated[dict[str, str], Field(max_length=64), AfterValidator(_own_names)]
Annotations = Annotated[dict[str, str], Field(max_length=64)]


class TypeConfig(Model):
    """What a session of one type runs."""

    image: Image = Field(description="The image that does the work.")
    command: Words = Field(default=(), description="Its command; none given: the image's own.")
    args: Words = Field(default=(), description="Arguments of the command.")
    env: Env = Field(default_factory=dict, description="Environment variables. No place for secrets.")
    annotations: Annotations = Field(default_factory=dict, description="Annotations of the pod.")
    model: ModelName = Field(description="The model of a session that names none; one of `models`.")
    service_account: DnsName = Field(
        default="default", description="The service account of the tenant's namespace to run as."
    )


class ModelConfig(Model):
    """What a model adds to the session's type."""

    image: Image | None = Field(default=None, description="The image to use instead of the type's.")
    env: Env = Field(
        default_factory=dict,
        description="More environment variables; they stand instead of the type's of the same name.",
    )
    annotations: Annotations = Field(default_factory=dict, description="More annotations of the pod.")


class SessionsConfig(Model):
    """What AISessions run. Types that are left out are not offered: their sessions wait."""

    types: Mapping[SessionType, TypeConfig] = Field(default_factory=dict, description="By session type.")
    keep_days: Annotated[int, Field(ge=1, le=3650)] | None = Field(
        default=30, description="For how many days ended sessions and their results are kept; null: for ever."
    )
    models: Annotated[Mapping[ModelName, ModelConfig], Field(max_length=256)] = Field(
        default_factory=dict, description="By the name that a session gives as `aiModel`."
    )

    @model_validator(mode="after")
    def _models_are_known(self) -> "SessionsConfig":
        for name, config in self.types.items():
            if config.model not in self.models:
                known = ", ".join(sorted(self.models)) or "none"
                raise ValueError(f"types.{name}.model: there is no model {config.model!r}; known: {known}")
        return self
