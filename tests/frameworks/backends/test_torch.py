"""Keras on PyTorch: what is read of it, and what happens without a name."""

import importlib
import sys
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kmonitor_agent import MonitorCallback
from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.frameworks.torch import graphs, memory
from kmonitor_agent.frameworks.torch.framework import read_tensor, tensor_of, write_tensor
from kmonitor_agent.frameworks.torch.graphs import TorchGraphs
from kmonitor_agent.frameworks.torch.memory import TorchAllocator
from kmonitor_agent.reclaim.actions import collect, reload, save
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from tests.support.backends import ON_BACKEND, on_backend
from tests.support.exactness import EPOCH_END, assert_reloaded, run_reloaded
from tests.support.recorders import faults_of

keras, torch, data, models, own = on_backend(
    "keras",
    "torch",
    "tests.frameworks.exactness.data",
    "tests.frameworks.exactness.models",
    "tests.frameworks.backends.torch_scenarios",
    only=("torch",),
)


pytestmark = ON_BACKEND

TAG = CheckpointTag("run", 1, 0)


def fitted(model: Any = None) -> Any:
    """A model that was fitted for an epoch."""
    model = model or models.dense()
    model.fit(**data.arrays(), epochs=1, verbose=0)
    return model


def test_torch_is_known_with_what_it_can():
    framework = framework_for(fitted())

    assert framework.info().backend == "torch"
    assert framework.info().versions["torch"] == torch.__version__
    assert set(framework.info().unavailable) <= {"allocator"}
    assert framework.reclaim_steps() is not None


def test_facts_and_description_are_read():
    model = fitted(models.adamw_schedule())
    framework = framework_for(model)

    facts = framework.fit_facts(model)
    assert (facts.optimizer, facts.run_eagerly, facts.jit_compile) == ("AdamW", False, False)
    assert facts.learning_rate == pytest.approx(0.05 * 0.8 ** (6 / 3), rel=1e-5)
    assert framework.describe(model).parameters == model.count_params()


def test_a_schedules_rate_on_a_gpu_is_read_too():
    rate = SimpleNamespace(item=lambda: 0.25)  # no numpy(), and no float()
    model = SimpleNamespace(optimizer=SimpleNamespace(_learning_rate=rate))

    assert framework_for(models.dense()).learning_rate(model).value == 0.25


def test_steps_without_a_graph_say_that_there_is_none(monkeypatch: pytest.MonkeyPatch):
    counted(monkeypatch, graphs=0, calls=0)
    framework = framework_for(fitted())

    assert framework.graph(None).operations is None
    assert "without a graph" in framework.graph(None).absent
    assert "without a graph" in framework.function_count().absent
    assert "graph" not in framework.info().unavailable, "it may come yet"


def test_compiled_graphs_are_counted_from_the_last_reload_on(monkeypatch: pytest.MonkeyPatch):
    stats = counted(monkeypatch, graphs=2, calls=30)
    graphs = TorchGraphs()

    assert (graphs.count().operations, graphs.count().functions) == (30, 2)
    graphs.all_dropped()
    assert (graphs.count().operations, graphs.number().value) == (0, 0)
    stats["unique_graphs"] += 1
    stats["calls_captured"] += 12
    assert (graphs.count().operations, graphs.number().value) == (12, 1)
    assert "torch.compile" in graphs.count().source


def counted(monkeypatch: pytest.MonkeyPatch, *, graphs: int, calls: int) -> dict[str, int]:
    """Counts that `torch.compile` reports; may be changed."""
    utils = importlib.import_module("torch._dynamo.utils")
    stats = {"unique_graphs": graphs, "calls_captured": calls} if graphs else {}
    monkeypatch.setattr(utils, "counters", defaultdict(dict, stats=stats))
    return stats


def test_what_torch_compiled_is_counted():
    before = framework_for(models.dense()).function_count().value or 0

    torch.compile(lambda x: x * 2 + 1, backend="eager")(torch.ones(3))

    framework = framework_for(models.dense())
    assert framework.function_count().value == before + 1
    assert (framework.graph(None).operations or 0) >= 2


def test_reload_by_the_callback_leaves_torchs_random_state_alone():
    def train(*callbacks: Any) -> tuple[Any, Any]:
        own.seed_torch(7)
        model = own.wrapped_modules()
        model.fit(**data.arrays(), epochs=2, verbose=0, callbacks=list(callbacks))
        return torch.get_rng_state().numpy().tobytes(), model.get_weights()

    monitor = MonitorCallback("torch", hub="off")
    ask = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: (
            monitor.request("reload", at="batch") if batch == 2 else None
        )
    )

    state, weights = train()
    reloaded_state, reloaded_weights = train(monitor, ask)

    assert [(each.event.ok, each.event.why) for each in monitor.records] == [(True, "")] * 2
    assert reloaded_state == state
    assert all(map(np.array_equal, reloaded_weights, weights))
    assert faults_of(monitor) == {}


def test_buffers_and_parameters_of_torchs_modules_are_in_the_state():
    model = fitted(own.wrapped_modules())
    steps = framework_for(model).reclaim_steps()
    assert steps is not None

    state = steps.state(model)

    paths = [each.path for each in state]
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        assert sum(path.endswith(name) for path in paths) == 1, name
    places = [tensor_of(each.variable).data_ptr() for each in state]
    assert len(set(places)) == len(places), "each once"


@pytest.mark.parametrize(
    "dtype",
    ["float16", "bfloat16", "float32", "float64", "int8", "int64", "bool", "float8_e4m3fn"],
)
def test_a_tensor_is_read_and_written_bit_for_bit(dtype: str):
    values = torch.tensor([[1.5, -2.0, 0.0], [float("nan"), 3.0, 1.0]])
    tensor = (values if dtype.startswith(("f", "b")) else values.nan_to_num()).to(
        getattr(torch, dtype)
    )
    read = read_tensor(tensor.t())
    into = torch.zeros_like(tensor.t())

    write_tensor(into, read.copy())

    assert str(read.dtype) == dtype
    assert read_tensor(into).tobytes() == read.tobytes()
    assert read_tensor(tensor[0, 0]).shape == ()


def test_assigning_keeps_tensors_and_their_gradients(tmp_path: Path):
    model = fitted()
    kept = [(each.value, each.value.grad) for each in model.trainable_variables]

    reload(framework_for(model), model, CheckpointStore(tmp_path), tag=TAG)

    for (tensor, gradient), variable in zip(kept, model.trainable_variables, strict=True):
        assert variable.value is tensor
        assert tensor.requires_grad
        assert tensor.grad is gradient


def gpu(*, started: bool = True, fraction: float | None = 1.0) -> Any:
    """As much of PyTorch with a GPU as the readings need."""
    told = {"allocated_bytes.all.current": 5, "allocated_bytes.all.peak": 7}
    cuda = SimpleNamespace(
        is_initialized=lambda: started,
        current_device=lambda: 1,
        memory_stats=lambda index: told if index == 1 else {},
        get_device_properties=lambda _: SimpleNamespace(total_memory=1000),
        emptied=[],
    )
    cuda.empty_cache = lambda: cuda.emptied.append(True)
    if fraction is not None:
        cuda.get_per_process_memory_fraction = lambda _: fraction
    return SimpleNamespace(cuda=cuda)


def test_a_gpus_memory_is_what_its_allocator_tells(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "torch_module", gpu)

    readings = TorchAllocator("cuda").read()

    assert readings.device == "GPU:1"
    assert (readings.in_use.value, readings.peak.value) == (5, 7)
    assert "no memory limit" in readings.limit.absent
    assert TorchAllocator("cuda:0").read().in_use.value == 0


def test_the_limit_is_the_share_that_the_script_set(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(memory, "torch_module", lambda: gpu(fraction=0.25))
    assert TorchAllocator("cuda").read().limit.value == 250

    monkeypatch.setattr(memory, "torch_module", lambda: gpu(fraction=None))
    assert "no memory limit" in TorchAllocator("cuda").read().limit.absent


@pytest.mark.parametrize(
    ("there", "words"),
    [
        (gpu(started=False), "not initialized"),
        (SimpleNamespace(), "not initialized"),
        (SimpleNamespace(cuda=SimpleNamespace(is_initialized=lambda: True)), "cannot be read"),
    ],
)
def test_a_gpu_that_cannot_be_asked_is_absent_with_the_reason(
    there: Any, words: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(memory, "torch_module", lambda: there)

    assert words in TorchAllocator("cuda").read().in_use.absent


def test_the_cpu_tells_no_memory():
    readings = framework_for(models.dense()).allocator()

    if readings.device == "CPU:0":
        assert "does not report" in readings.in_use.absent


@pytest.mark.parametrize("started", [True, False])
def test_only_devices_that_have_started_are_asked_to_give_back(
    *, started: bool, monkeypatch: pytest.MonkeyPatch
):
    there = gpu(started=started)
    monkeypatch.setattr(graphs, "torch_module", lambda: there)

    assert collect(framework_for(models.dense()), None).ok

    assert there.cuda.emptied == [True] * started


def test_without_counters_only_the_graph_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    model = fitted()
    monkeypatch.delattr("torch._dynamo.utils.counters")
    framework = framework_for(model)

    assert framework.info().unavailable["graph"].startswith("not available with PyTorch ")
    assert "lacks an attribute" in framework.graph(model).absent
    assert "lacks an attribute" in framework.function_count().absent
    outcome = reload(framework, model, CheckpointStore(tmp_path), tag=TAG)
    assert (outcome.ok, outcome.why) == (True, "")


def test_without_a_reset_the_record_says_what_was_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    model = fitted()
    monkeypatch.delattr("torch._dynamo.reset")

    outcome = reload(framework_for(model), model, CheckpointStore(tmp_path), tag=TAG)

    assert outcome.ok
    assert "compiled functions not dropped" in outcome.why


def test_a_device_that_keras_does_not_name_is_found_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "keras.src.backend.torch.core", None)

    assert framework_for(models.dense()).allocator().device.startswith(("CPU", "GPU", ""))


def test_save_works_without_a_fit_before(tmp_path: Path):
    model = models.dense()

    assert save(framework_for(model), model, CheckpointStore(tmp_path), tag=TAG).ok


def test_a_compiled_step_announces_that_it_may_be_inexact():
    steps = framework_for(models.dense()).reclaim_steps()
    assert steps is not None

    assert "may not be exact" in steps.inexact(models.dense(jit_compile=True))
    assert steps.inexact(models.dense()) == ""


@pytest.mark.full
@pytest.mark.filterwarnings("ignore")  # of torch.compile itself
def test_a_compiled_training_reloads(tmp_path: Path):
    reloaded = run_reloaded(own.COMPILED, EPOCH_END, tmp_path)

    assert_reloaded(own.COMPILED, reloaded)
    (outcome,) = reloaded.outcomes
    assert outcome.after is not None
    assert (outcome.before.functions or 0) > 0
    assert outcome.after.functions == 0
