"""Both doors lead into the same project."""

from pathlib import Path

import pytest
import yaml

from stacks.project import PROJECT_SETTINGS, empty_run_folder, quiet_home


def test_operators_project_file_has_the_watchers_settings() -> None:
    own = yaml.safe_load((Path(__file__).parents[2] / "Pulumi.yaml").read_text(encoding="utf-8"))
    assert {field: own[field] for field in PROJECT_SETTINGS} == PROJECT_SETTINGS


def test_own_home_has_the_operators_plugins_and_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own" / "plugins" / "resource-x").mkdir(parents=True)
    (tmp_path / "own" / "logs").mkdir()
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "own"))
    home = quiet_home(tmp_path)
    assert (home / "plugins" / "resource-x").is_dir()
    assert (home / "logs").is_file()
    empty_run_folder(tmp_path / "home")
    assert (tmp_path / "own" / "plugins" / "resource-x").is_dir()
