"""Trainings on JAX, PyTorch and tf_keras are the same with kmonitor, where these are installed."""

import importlib.util
from pathlib import Path

import pytest

from tests.promise.frameworks import FRAMEWORK_CASES
from tests.promise.training import Case, compare
from tests.support.running_tests import LONG

pytestmark = [pytest.mark.slow, pytest.mark.full, LONG]


@pytest.mark.parametrize("case", FRAMEWORK_CASES, ids=lambda case: case.name)
def test_a_training_on_another_framework_is_the_same_with_kmonitor(case: Case, tmp_path: Path):
    missing = [name for name in case.needs if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")

    assert compare(case, tmp_path) == []
