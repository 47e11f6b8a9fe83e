"""A TensorFlow that lacks a private name costs one capability, with the reason, and no more."""

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from kmonitor_agent.frameworks import detection
from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.frameworks.tensorflow import internals
from kmonitor_agent.reclaim.actions import collect, reload, save
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from tests.support.reloading import KERAS, arrays, dense_model

pytestmark = [*KERAS, pytest.mark.slow]

NAMES = (
    "RUNTIME_FUNCTION_REFS",
    "AtomicFunction",
    "context_safe",
    "gradient_registry",
    "FuncGraph",
    "CondBranchFuncGraph",
    "_default_graph_stack",
    "_frequent_tracing_detector_manager",
)


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let chosen names be missing from the next framework that is probed."""
    look = internals.module_member
    monkeypatch.setattr(detection, "_known", {})

    def hide(*hidden: str) -> None:
        def name(module: str, wanted: str) -> Any:
            if wanted in hidden:
                raise AttributeError(f"module {module} has no attribute {wanted}")
            return look(module, wanted)

        monkeypatch.setattr(internals, "module_member", name)

    return hide


@pytest.fixture(scope="module")
def model() -> Any:
    model = dense_model()
    model.fit(**arrays(validation=False), verbose=0)
    return model


ONE_EACH = [pytest.param((name,), marks=pytest.mark.full) for name in NAMES]


@pytest.mark.parametrize("hidden", [*ONE_EACH, NAMES], ids=str)
def test_nothing_raises_and_every_absence_has_a_reason(
    hide: Any, hidden: tuple[str, ...], model: Any, tmp_path: Path
):
    hide(*hidden)
    framework = framework_for(model)
    store = CheckpointStore(tmp_path)
    tag = CheckpointTag("run", 1, 0)

    count = framework.graph(model)
    assert (count.operations is None) == bool(count.absent)
    reading = framework.function_count()
    assert (reading.value is None) == bool(reading.absent)
    allocator = framework.allocator()
    assert (allocator.in_use.value is None) == bool(allocator.in_use.absent)
    assert save(framework, model, store, tag=tag).ok
    collected = collect(framework, model)
    assert collected.ok or "lacks an attribute" in collected.why
    outcome = reload(framework, model, store, tag=tag)
    assert outcome.ok, outcome.why


def test_without_the_function_registry_there_is_no_graph_size(hide: Any, model: Any):
    hide("RUNTIME_FUNCTION_REFS")

    framework = framework_for(model)

    why = framework.info().unavailable["graph"]
    assert why.startswith(f"not available with TensorFlow {tf.__version__} because")
    assert "RUNTIME_FUNCTION_REFS" in why
    assert framework.graph(model).operations is None
    assert framework.function_count().value is None


def test_without_the_gradient_registry_retained_is_not_told_but_graphs_are(hide: Any, model: Any):
    hide("gradient_registry")
    model.predict(arrays()["x"], verbose=0)

    framework = framework_for(model)

    assert "gradient_registry" in framework.info().unavailable["collect"]
    assert framework.graph(model).retained is None
    assert (framework.graph(model).operations or 0) > 0


def test_a_session_that_may_be_nested_is_not_cleared(hide: Any, model: Any, tmp_path: Path):
    hide("_default_graph_stack")

    outcome = reload(
        framework_for(model), model, CheckpointStore(tmp_path), tag=CheckpointTag("run", 1, 0)
    )

    assert outcome.ok
    assert "session not cleared" in outcome.why
