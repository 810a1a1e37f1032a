"""Both doors lead into the same project."""

from pathlib import Path

import yaml

from stacks.project import PROJECT_SETTINGS


def test_operators_project_file_has_the_watchers_settings() -> None:
    own = yaml.safe_load((Path(__file__).parents[2] / "Pulumi.yaml").read_text(encoding="utf-8"))
    assert {field: own[field] for field in PROJECT_SETTINGS} == PROJECT_SETTINGS
