"""A training that was reloaded ends as one that was not, bit for bit, in either mode."""

from pathlib import Path
from typing import Any, Final

import pytest

from kmonitor_agent.frameworks.base import Framework
from kmonitor_agent.reclaim.actions import predict_reload_effect, reload
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from kmonitor_agent.wire.messages.commands import ReloadMode
from tests.frameworks.exactness import generative, scenarios, tensorflow_scenarios
from tests.support.exactness import (
    EPOCH_END,
    MID_EPOCH,
    MOMENTS,
    THREE_TIMES,
    Moments,
    Result,
    Scenario,
    assert_reloaded,
    assert_same,
    run_plain,
    run_reloaded,
    run_with,
)
from tests.support.reloading import KERAS
from tests.support.running_tests import LONG

pytestmark = [*KERAS, pytest.mark.slow, LONG]

MODES: Final[tuple[ReloadMode, ...]] = ("assign", "recreate")
CORE: Final = [*scenarios.CORE, *tensorflow_scenarios.CORE, *tensorflow_scenarios.KEPT]
ALL: Final = [
    *CORE,
    *scenarios.SCENARIOS,
    *tensorflow_scenarios.SCENARIOS,
    *generative.SCENARIOS,
]

QUICK: Final = {
    ("Adam, Dropout, BatchNorm", THREE_TIMES, "recreate"),
    ("tf.data that shuffles", THREE_TIMES, "assign"),
}
"""Scenarios of `make test`; the rest is for `make test-full`."""

CASES = [
    pytest.param(
        scenario,
        moments,
        mode,
        id=f"{scenario.name}-{moments.name}-{mode}",
        marks=() if (scenario.name, moments, mode) in QUICK else pytest.mark.full,
    )
    for scenario in ALL
    for moments in MOMENTS
    for mode in MODES
    # Scenarios that differ in one thing need no moment of each kind.
    if moments is not MID_EPOCH or not scenario.name.startswith("every optimizer")
]


@pytest.fixture(scope="module")
def plain_runs() -> dict[str, Result]:
    """Uninterrupted runs by scenario, each made once."""
    return {}


@pytest.mark.promise(21)
@pytest.mark.parametrize(("scenario", "moments", "mode"), CASES)
def test_reload_changes_nothing(
    plain_runs: dict[str, Result],
    scenario: Scenario,
    moments: Moments,
    mode: ReloadMode,
    tmp_path: Path,
):
    if scenario.name not in plain_runs:
        plain_runs[scenario.name] = run_plain(scenario)

    reloaded = run_reloaded(scenario, moments, tmp_path, mode=mode)

    assert_reloaded(scenario, reloaded, mode=mode)
    assert_same(reloaded, plain_runs[scenario.name])


@pytest.mark.promise(21)
@pytest.mark.full
@pytest.mark.parametrize(
    "scenario", [pytest.param(each, id=each.name) for each in tensorflow_scenarios.INEXACT]
)
def test_what_a_reload_changes_is_announced(scenario: Scenario, tmp_path: Path):
    plain = run_plain(scenario)
    assert_same(run_plain(scenario), plain)

    foretold: list[str] = []

    def reloading(
        framework: Framework, model: Any, store: CheckpointStore, tag: CheckpointTag
    ) -> ReclaimOutcome:
        foretold.append(predict_reload_effect(framework, model))
        return reload(framework, model, store, tag=tag)

    reloaded = run_with(scenario, EPOCH_END, tmp_path, reloading)

    assert "not exact" in foretold[0]
    assert_reloaded(scenario, reloaded)
    assert foretold[0] in reloaded.outcomes[0].why
    with pytest.raises(AssertionError):
        assert_same(reloaded, plain)
