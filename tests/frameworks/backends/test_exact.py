"""On JAX and PyTorch a reloaded training ends as one that was not, bit for bit."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.reclaim.actions import collect, save
from tests.support.backends import ON_BACKEND, backend_here, on_backend
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

shared, own = on_backend(
    "tests.frameworks.exactness.scenarios",
    f"tests.frameworks.backends.{backend_here()}_scenarios",
)

pytestmark = ON_BACKEND

CORE: Final = [each for each in (*shared.CORE, *own.CORE) if each.name not in own.LEFT_OUT]
OTHERS: Final = [each for each in shared.SCENARIOS if each.name not in own.LEFT_OUT]

QUICK: Final = {
    ("Adam, Dropout, BatchNorm", THREE_TIMES),
    ("AdamW with a schedule", MID_EPOCH),
    ("ReduceLROnPlateau before us", EPOCH_END),
    ("keras.random without a seed", MID_EPOCH),
    ("EMA", MID_EPOCH),
    ("mixed precision with loss scale", EPOCH_END),
    ("keras.random with a seed", MID_EPOCH),
    ("two outputs", MID_EPOCH),
    ("MultiOptimizer by map", THREE_TIMES),
    *((each.name, THREE_TIMES) for each in own.CORE),
}
"""Scenarios of a backend's trial; the rest needs `-m full` in an environment of the backend."""

CASES = [
    pytest.param(
        scenario,
        moments,
        id=f"{scenario.name}-{moments.name}",
        marks=() if (scenario.name, moments) in QUICK else pytest.mark.full,
    )
    for scenario in (*CORE, *OTHERS)
    for moments in MOMENTS
    # Scenarios that differ in one thing need no moment of each kind.
    if moments is not MID_EPOCH or not scenario.name.startswith("every optimizer")
]


@pytest.fixture(scope="module")
def plain_runs() -> dict[str, Result]:
    """Uninterrupted runs by scenario, each made once."""
    return {}


@pytest.mark.parametrize(("scenario", "moments"), CASES)
def test_reload_changes_nothing(
    plain_runs: dict[str, Result], scenario: Scenario, moments: Moments, tmp_path: Path
):
    if scenario.name not in plain_runs:
        plain_runs[scenario.name] = run_plain(scenario)

    reloaded = run_reloaded(scenario, moments, tmp_path)

    assert_reloaded(scenario, reloaded)
    assert_same(reloaded, plain_runs[scenario.name])


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(each, id=each.name, marks=() if n == 0 else pytest.mark.full)
        for n, each in enumerate((*CORE, *OTHERS))
    ],
)
def test_same_seeds_give_the_same_training_and_others_another(
    plain_runs: dict[str, Result], scenario: Scenario
):
    again = run_plain(scenario)

    assert_same(again, plain_runs.setdefault(scenario.name, run_plain(scenario)))


def test_a_training_that_draws_otherwise_is_told_apart(plain_runs: dict[str, Result]):
    scenario = CORE[0]
    plain = plain_runs.setdefault(scenario.name, run_plain(scenario))

    def draw(framework: Any, model: Any, store: Any, tag: Any) -> Any:
        for layer in model.layers:
            if hasattr(layer, "seed_generator"):
                layer.seed_generator.next()
        return collect(framework, model)

    with pytest.raises(AssertionError):
        assert_same(run_with(scenario, EPOCH_END, Path(), draw), plain)


@pytest.mark.parametrize("moments", [EPOCH_END, MID_EPOCH], ids=lambda each: each.name)
@pytest.mark.parametrize("action", ["save", "collect"])
def test_save_and_collect_change_nothing(
    plain_runs: dict[str, Result], moments: Moments, action: str, tmp_path: Path
):
    scenario = CORE[0]
    plain = plain_runs.setdefault(scenario.name, run_plain(scenario))

    def act(framework: Any, model: Any, store: Any, tag: Any) -> Any:
        if action == "collect":
            return collect(framework, model)
        return save(framework, model, store, tag=tag)

    result = run_with(scenario, moments, tmp_path, act)

    assert [(each.ok, each.why) for each in result.outcomes] == [(True, "")]
    assert_same(result, plain)


def test_recreate_is_answered_with_the_reason_and_assigns(tmp_path: Path):
    scenario = CORE[0]

    reloaded = run_reloaded(scenario, EPOCH_END, tmp_path, mode="recreate")

    assert reloaded.outcomes[0].ok
    assert reloaded.outcomes[0].mode == "assign"
    assert "not recreated" in reloaded.outcomes[0].why


def test_a_state_that_was_changed_meanwhile_is_restored_from_the_file(tmp_path: Path):
    scenario = CORE[0]
    scenario.seed_all(scenario.seed)
    model = scenario.model()
    model.fit(**scenario.data(), epochs=1, verbose=0)
    steps = framework_for(model).reclaim_steps()
    assert steps is not None
    variables = steps.state(model)
    saved = [steps.read(each.variable).copy() for each in variables]

    for each in variables:
        steps.assign(each.variable, np.zeros_like(steps.read(each.variable)))
    for each, value in zip(variables, saved, strict=True):
        steps.assign(each.variable, value)

    for each, value in zip(variables, saved, strict=True):
        assert steps.read(each.variable).tobytes() == value.tobytes(), each.path
        assert steps.read(each.variable).dtype == value.dtype
