"""Hypothesis keeps its files outside the checkout, which all workers share."""

import pytest
from hypothesis import configuration


@pytest.fixture(scope="session", autouse=True)
def hypothesis_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    configuration.set_hypothesis_home_dir(tmp_path_factory.mktemp("hypothesis"))
