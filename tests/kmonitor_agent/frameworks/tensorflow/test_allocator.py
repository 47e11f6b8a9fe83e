"""Reports of TensorFlow's allocator, by a stand-in for a TensorFlow that has a GPU."""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kmonitor_agent.frameworks.tensorflow.internals import TensorFlowInternals
from kmonitor_agent.frameworks.tensorflow.memory import TensorFlowAllocator

GPU = object()


def tensorflow_with(*, gpus: int = 1, limits_mib: list[float | None] | None = None) -> Any:
    """As much of TensorFlow as the allocator's readings need."""
    logical = [SimpleNamespace(memory_limit=limit) for limit in limits_mib or ()]
    config = SimpleNamespace(
        list_logical_devices=lambda kind: ["/device:GPU:0"][:gpus] if kind == "GPU" else [],
        get_visible_devices=lambda kind: [GPU][:gpus] if kind == "GPU" else [],
        get_logical_device_configuration=lambda device: (logical or None) if device is GPU else 0,
        experimental=SimpleNamespace(get_memory_info=lambda device: {"current": 5, "peak": 7}),
    )
    return SimpleNamespace(config=config)


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets a TensorFlow be there, and gives an allocator that reads it."""

    def give(tf: Any, *, context: Any = None) -> TensorFlowAllocator:
        monkeypatch.setitem(sys.modules, "tensorflow", tf)
        ask = (lambda: context) if context is not None else None
        return TensorFlowAllocator(TensorFlowInternals(eager_context=ask))

    return give


def test_the_limit_is_the_one_that_the_script_set(given: Any):
    readings = given(tensorflow_with(limits_mib=[512, 1024])).read()

    assert readings.device == "GPU:0"
    assert (readings.in_use.value, readings.peak.value) == (5, 7)
    assert readings.limit.value == 512 * 1024 * 1024
    assert "script" in readings.limit.source


@pytest.mark.parametrize("limits_mib", [None, [None]])
def test_without_a_limit_of_the_script_there_is_none(given: Any, limits_mib: Any):
    limit = given(tensorflow_with(limits_mib=limits_mib)).read().limit

    assert limit.value is None
    assert "no memory limit" in limit.absent


def test_a_tensorflow_that_does_not_tell_limits_says_so(given: Any):
    tf = tensorflow_with()
    del tf.config.get_logical_device_configuration

    readings = given(tf).read()

    assert readings.in_use.value == 5
    assert "does not report the limit" in readings.limit.absent


def test_the_cpu_device_has_no_limit_and_says_what_it_cannot_see(given: Any):
    readings = given(tensorflow_with(gpus=0)).read()

    assert readings.device == "CPU:0"
    assert "256 KiB" in readings.in_use.source
    assert "no limit" in readings.limit.absent


def test_devices_that_are_not_started_are_not_started_by_asking(given: Any):
    readings = given(SimpleNamespace(), context=SimpleNamespace(_initialized=False)).read()

    assert readings.device == ""
    assert "not initialized its devices" in readings.in_use.absent
