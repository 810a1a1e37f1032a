"""The base classes of all models."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Model(BaseModel):
    """A frozen model that rejects unknown fields. In YAML and JSON, the names of its fields are camelCase."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class StoredModel(Model):
    """A frozen model that ignores unknown fields.

    The watcher stores such models. After a downgrade, an older version of the watcher must still be able to
    read them.
    """

    model_config = ConfigDict(extra="ignore")
