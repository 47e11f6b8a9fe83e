# pyright: reportImplicitOverride=false
"""Keras on JAX: what is read of it, at what cost to a step, and what happens without a name."""

import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kmonitor_agent import MonitorCallback
from kmonitor_agent import collect as collect_between_models
from kmonitor_agent.frameworks.base import HasTraceHolders
from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.frameworks.jax import programs
from kmonitor_agent.frameworks.jax.memory import JaxAllocator
from kmonitor_agent.frameworks.jax.programs import JaxInternals, JaxPrograms
from kmonitor_agent.reclaim.actions import collect, reload, save
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from tests.support.backends import ON_BACKEND, on_backend
from tests.support.recorders import faults_of

keras, jax, data, models = on_backend(
    "keras",
    "jax",
    "tests.frameworks.exactness.data",
    "tests.frameworks.exactness.models",
    only=("jax",),
)


pytestmark = ON_BACKEND

TAG = CheckpointTag("run", 1, 0)


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Each time that `fit`'s state was put back into the variables: by whom."""
    told: list[str] = []
    sync = keras.Model.jax_state_sync

    def told_sync(model: Any) -> None:
        if getattr(model, "_jax_state", None) and not model._jax_state_synced:
            told.append(sys._getframe(1).f_code.co_name)
        sync(model)

    monkeypatch.setattr(keras.Model, "jax_state_sync", told_sync)
    return told


def fitted(model: Any = None, **more: Any) -> Any:
    """A model that was fitted for an epoch."""
    model = model or models.dense()
    model.fit(**{**data.arrays(), **more}, epochs=1, verbose=0)
    return model


def test_jax_is_known_with_what_it_can():
    framework = framework_for(fitted())

    assert framework.info().backend == "jax"
    assert framework.info().versions == {"keras": keras.__version__, "jax": jax.__version__}
    assert set(framework.info().unavailable) <= {"allocator"}
    assert framework.reclaim_steps() is not None


def test_facts_and_description_are_read():
    model = fitted(models.dense(jit_compile=True))
    framework = framework_for(model)

    assert framework.fit_facts(model).optimizer == "Adam"
    assert framework.fit_facts(model).jit_compile is True
    assert framework.learning_rate(model).value == pytest.approx(0.01)
    assert framework.describe(model).parameters == model.count_params()
    assert {slot.name for slot in framework.describe(model).slots} >= {"momentum", "velocity"}


def test_the_step_and_the_callback_let_jax_run_ahead(syncs: list[str]):
    monitor = MonitorCallback("ahead", hub="off")
    assert keras.callbacks.CallbackList([monitor])._async_train

    models.dense().fit(**data.validated(), epochs=2, verbose=0, callbacks=[monitor])

    # Keras itself puts the state back after each epoch and each evaluation.
    assert set(syncs) == {"fit", "evaluate"}
    assert len(syncs) == 4
    assert faults_of(monitor) == {}


def test_a_reload_amid_an_epoch_puts_the_state_back_once(syncs: list[str]):
    monitor = MonitorCallback("once", hub="off")
    ask = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: (
            monitor.request("reload", at="batch") if batch == 2 else None
        )
    )

    models.dense().fit(**data.arrays(), epochs=1, verbose=0, callbacks=[monitor, ask])

    assert sorted(syncs) == ["fit", "state"]
    (record,) = (each.event for each in monitor.records)
    assert (record.ok, record.why, record.mode) == (True, "", "assign")


def test_the_learning_rate_is_absent_while_the_variables_are_empty():
    seen: list[float | None] = []
    model = models.dense()
    framework = framework_for(model)
    ask = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: seen.append(framework.learning_rate(model).value)
    )

    model.fit(**data.arrays(), epochs=1, verbose=0, callbacks=[ask])

    assert seen[0] == pytest.approx(0.01)
    assert seen[1:] == [None] * (len(seen) - 1)


def test_compiled_programs_are_the_graph_and_grow_with_shapes():
    model = fitted()
    framework = framework_for(model)
    before = framework.graph(model)

    fitted(model, batch_size=12)
    after = framework.graph(model)

    def steps(count: Any) -> int:
        return next(each.traces for each in count.by_function if each.name == "train_step")

    assert "compiled programs" in before.source
    assert steps(after) == steps(before) + 1
    assert (after.operations or 0) > (before.operations or 0) > 0
    assert (
        framework.function_count().value
        == after.functions
        == len(JaxPrograms(JaxInternals()).alive()[0])
    )
    assert framework.graph(model) is after, "nothing came or went: nothing is counted anew"


def test_models_that_are_gone_leave_no_program():
    def build_and_drop() -> tuple[int, int | None]:
        fitted()
        framework = framework_for(models.dense())
        assert collect(framework, None).ok
        count = framework.graph(None)
        return count.functions, count.operations

    build_and_drop()

    assert build_and_drop() == build_and_drop()


def test_reload_lets_go_of_programs_and_collect_names_those_of_many_shapes(tmp_path: Path):
    @jax.jit
    def my_step(x: Any) -> Any:
        return x * 2 + 1

    for n in range(1, 13):
        my_step(jax.numpy.ones(n))
    model = fitted()
    framework = framework_for(model)

    collected = collect(framework, model)
    assert isinstance(framework, HasTraceHolders)
    holders = framework.trace_holders()
    reloaded = reload(framework, model, CheckpointStore(tmp_path), tag=TAG)

    assert any("12 compiled programs of `my_step`" in line for line in collected.held)
    assert collected.why == ""
    assert ("my_step", 12, "12 shapes") in [(one.name, one.traces, one.why) for one in holders]
    assert reloaded.held == ()
    assert reloaded.after is not None
    assert reloaded.after.graph_operations == 0
    assert (reloaded.before.graph_operations or 0) > 0
    assert my_step(jax.numpy.ones(3)).tolist() == [3.0, 3.0, 3.0]


def test_values_that_are_the_same_stay_the_same_arrays(tmp_path: Path):
    model = fitted()
    arrays = [each.value for each in model.variables]

    reload(framework_for(model), model, CheckpointStore(tmp_path), tag=TAG)

    assert all(a is b.value for a, b in zip(arrays, model.variables, strict=True))


def test_reading_any_thread_neither_waits_nor_starts_devices(monkeypatch: pytest.MonkeyPatch):
    framework = framework_for(fitted())
    values: list[Any] = []

    def read() -> None:
        values.extend([framework.function_count().value, framework.allocator()])

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert values[0] > 0

    monkeypatch.setattr(JaxInternals, "has_started", lambda _: False)
    monkeypatch.setattr(JaxInternals, "device", lambda _: pytest.fail("asked for a device"))
    assert "not initialized" in framework.function_count().absent
    assert "not initialized" in framework.allocator().in_use.absent
    assert "not initialized" in framework.graph(None).absent


def internals_with(memory: Any, platform: str = "gpu") -> Any:
    """JAX with one device, whose memory reads like this."""

    def stats() -> Any:
        if isinstance(memory, Exception):
            raise memory
        return memory

    device = SimpleNamespace(platform=platform, id=0, memory_stats=stats)
    return SimpleNamespace(has_started=lambda: True, device=lambda: device)


def test_a_gpus_memory_is_what_its_device_tells():
    told = {"bytes_in_use": 5, "peak_bytes_in_use": 7, "bytes_limit": 9, "num_allocs": 1}

    readings = JaxAllocator(internals_with(told)).read()

    assert readings.device == "GPU:0"
    assert (readings.in_use.value, readings.peak.value, readings.limit.value) == (5, 7, 9)
    assert readings.in_use.source == "jax allocator, GPU:0 in use"
    assert JaxAllocator(internals_with({"bytes_in_use": 5})).read().limit.absent


@pytest.mark.parametrize("memory", [None, {}, RuntimeError("lost"), NotImplementedError("no")])
def test_a_device_that_does_not_tell_its_memory_says_so(memory: Any):
    readings = JaxAllocator(internals_with(memory, "cpu")).read()

    assert readings.device == "CPU:0"
    assert readings.in_use.value is None
    assert readings.in_use.absent


@pytest.mark.parametrize(
    ("hidden", "lacking"),
    [
        ("client", {"graph"}),
        ("clear_caches", set[str]()),
        ("backends_are_initialized", set[str]()),
        ("process_count", set[str]()),
        ("jax_state_sync", {"save", "reload"}),
        ("hlo_modules", {"graph"}),
    ],
)
def test_a_missing_name_costs_one_thing_and_says_so(
    hidden: str, lacking: set[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    model = fitted()
    hide(hidden, monkeypatch)
    framework = framework_for(model)
    steps = framework.reclaim_steps()
    assert steps is not None

    told = framework.info().unavailable
    assert set(told) - {"allocator"} == lacking
    assert all(told[each].startswith("not available with ") for each in lacking)
    count = framework.graph(model)
    assert (count.operations is None) == bool(count.absent) == ("graph" in lacking)
    assert collect(framework, model).ok
    store = CheckpointStore(tmp_path)
    assert save(framework, model, store, tag=TAG).ok == ("save" not in lacking)
    reloaded = reload(framework, model, store, tag=TAG)
    assert reloaded.ok == ("reload" not in lacking)
    assert ("not available with" in reloaded.why) == (hidden in {"clear_caches", "jax_state_sync"})
    fitted(model)


def hide(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let JAX or Keras lack a name."""
    if name == "jax_state_sync":
        # `fit` itself needs it: only a lookup on the class does not find it.
        monkeypatch.setattr(keras, "Model", SimpleNamespace())
    elif name == "client":
        monkeypatch.setattr(JaxInternals, "client", lambda _: SimpleNamespace())
    elif name == "hlo_modules":
        program = SimpleNamespace(fingerprint=b"", unsafe_executable_pointer=1)
        client = SimpleNamespace(live_executables=lambda: [program])
        monkeypatch.setattr(JaxInternals, "client", lambda _: client)
    elif name == "backends_are_initialized":
        monkeypatch.setattr(programs, "_name", lambda *_: getattr(None, name))
    else:
        known = {each: getattr(jax, each) for each in ("local_devices", "device_put")}
        others = {"clear_caches": jax.clear_caches, "process_count": jax.process_count}
        others.pop(name)
        monkeypatch.setattr(programs, "_jax", lambda: SimpleNamespace(**known, **others))


def test_where_programs_are_not_listed_traces_are_told(monkeypatch: pytest.MonkeyPatch):
    model = fitted()
    hide("client", monkeypatch)

    assert 1 <= framework_for(model).graph(model).traces <= 2  # Keras 3.6: weak types, then strong


def test_a_step_that_holds_the_values_is_told_apart_from_empty_variables(tmp_path: Path):
    model = fitted()
    model.variables[0]._value = None

    outcome = save(framework_for(model), model, CheckpointStore(tmp_path), tag=TAG)

    assert not outcome.ok
    assert "held by a running step" in outcome.why


def test_several_processes_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    model = fitted()
    monkeypatch.setattr(jax, "process_count", lambda: 2)

    outcome = reload(framework_for(model), model, CheckpointStore(tmp_path), tag=TAG)

    assert not outcome.ok
    assert "several JAX processes" in outcome.why
    assert model.train_function is not None


def test_collect_between_models_tells_what_went_with_a_dead_one():
    collect_between_models()
    fitted()

    done = collect_between_models()

    before, after = done.before.functions, done.after.functions
    assert before is not None
    assert after is not None
    assert before > after
    programs = "compiled program" if before - after == 1 else "compiled programs"
    assert str(done).startswith(f"{before - after} {programs} released (")
