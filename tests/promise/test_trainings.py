"""Trainings in many environments compute, draw, print and call the same with kmonitor."""

from pathlib import Path

import pytest

from tests.promise.environments import CASES
from tests.promise.training import Case, compare
from tests.support.running_tests import LONG

pytestmark = [pytest.mark.keras, pytest.mark.slow, LONG]


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=c.name, marks=[pytest.mark.full] if c.full else []) for c in CASES],
)
def test_a_training_is_the_same_with_kmonitor(case: Case, tmp_path: Path):
    assert compare(case, tmp_path) == []
