"""Configures Hypothesis to write its files outside the checkout, because all workers share the checkout."""

import pytest
from hypothesis import configuration


@pytest.fixture(scope="session", autouse=True)
def hypothesis_folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    configuration.set_hypothesis_home_dir(tmp_path_factory.mktemp("hypothesis"))
