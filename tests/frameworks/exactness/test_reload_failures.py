"""Whatever fails inside a reload, the fit continues with the same result; the record says why."""

from pathlib import Path
from typing import Any

import keras
import pytest

from kmonitor_agent.frameworks.keras3.step_functions import DeferredFunction
from kmonitor_agent.frameworks.tensorflow import reclaim
from kmonitor_agent.reclaim import actions
from kmonitor_agent.wire.messages.commands import ReloadMode
from tests.frameworks.exactness import data, models
from tests.support.exactness import (
    EPOCH_END,
    Result,
    Scenario,
    assert_same,
    run_plain,
    run_reloaded,
)
from tests.support.reloading import KERAS

pytestmark = [*KERAS, pytest.mark.slow]

TRAINING = Scenario("dense", models.dense, data.arrays, epochs=2)
Patch = pytest.MonkeyPatch


@pytest.fixture(scope="module")
def plain() -> Result:
    return run_plain(TRAINING)


def failing(monkeypatch: Patch, owner: Any, name: str, *, times: int = 1) -> list[str]:
    """Have a function fail the first times that it is called while a reload runs."""
    real = getattr(owner, name)
    failed: list[str] = []
    armed: list[bool] = []

    def function(*given: Any, **named: Any) -> Any:
        if armed and len(failed) < times:
            failed.append(name)
            raise MemoryError(f"none for {name}, for a test")
        return real(*given, **named)

    def armed_reload(*given: Any, **named: Any) -> Any:
        armed.append(True)
        try:
            return reload(*given, **named)
        finally:
            armed.clear()

    reload = actions.save_and_restore
    monkeypatch.setattr(owner, name, function)
    monkeypatch.setattr(actions, "save_and_restore", armed_reload)
    return failed


PLACES: list[tuple[Any, str]] = [
    (reclaim, "untrack"),
    (reclaim, "_graphs_of"),
    (reclaim, "_forget_losses"),
    (reclaim, "clear_session_keeping_settings"),
    (reclaim.Keras3TensorFlowReclaim, "drop_functions"),
    (reclaim.Keras3TensorFlowReclaim, "release_retained"),
    (reclaim.Keras3TensorFlowReclaim, "make_functions"),
    (actions, "clear_model"),
    (actions, "_restore_values"),
    (actions, "collect_garbage"),
    (actions, "return_free_pages"),
    (keras.Sequential, "make_train_function"),
]

IN_SHORT = {"_graphs_of", "_forget_losses", "drop_functions", "make_train_function"}


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        pytest.param(*each, id=each[1], marks=() if each[1] in IN_SHORT else pytest.mark.full)
        for each in PLACES
    ],
)
def test_training_goes_on_exactly_when_a_part_of_the_reload_fails(
    plain: Result, monkeypatch: Patch, tmp_path: Path, owner: Any, name: str
):
    failed = failing(monkeypatch, owner, name)

    result = run_reloaded(TRAINING, EPOCH_END, tmp_path)

    assert failed == [name]
    (outcome,) = result.outcomes
    assert not outcome.ok
    assert f"MemoryError: none for {name}" in outcome.why
    assert_same(result, plain)


@pytest.mark.parametrize("mode", ["assign", "recreate"])
def test_a_model_is_never_without_a_step_function(
    monkeypatch: Patch, tmp_path: Path, mode: ReloadMode
):
    seen: list[Any] = []
    clear = actions.clear_model

    def look(run: Any) -> None:
        clear(run)
        seen.append(run.model.train_function)

    monkeypatch.setattr(actions, "clear_model", look)

    run_reloaded(TRAINING, EPOCH_END, tmp_path, mode=mode)

    (found,) = seen
    assert callable(found)
    assert isinstance(found, DeferredFunction) == (mode == "recreate")
