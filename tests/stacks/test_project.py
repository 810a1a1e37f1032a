"""The settings of the Pulumi project, and the PULUMI_HOME of Pulumi commands."""

from pathlib import Path

import pytest
import yaml

from stacks.project import PROJECT_SETTINGS, clear_run_folder, create_pulumi_home


def test_operators_project_file_has_the_watchers_settings() -> None:
    settings = yaml.safe_load((Path(__file__).parents[2] / "Pulumi.yaml").read_text(encoding="utf-8"))
    assert {field: settings[field] for field in PROJECT_SETTINGS} == PROJECT_SETTINGS


def test_pulumi_home_has_the_operators_plugins_and_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own" / "plugins" / "resource-x").mkdir(parents=True)
    (tmp_path / "own" / "logs").mkdir()
    monkeypatch.setenv("PULUMI_HOME", str(tmp_path / "own"))
    home = create_pulumi_home(tmp_path)
    assert (home / "plugins" / "resource-x").is_dir()
    assert (home / "logs").is_file()
    clear_run_folder(tmp_path / "home")
    assert (tmp_path / "own" / "plugins" / "resource-x").is_dir()
