"""Contents of a device, in parts; what cannot be read is absent with the reason."""

from typing import Any

import pytest

from kmonitor.ui.memory.device_split import ResidentMemory, device_split_state
from kmonitor.ui.runs.readings import RunReadings
from kmonitor_agent.wire.messages.events import FieldSource, FieldSources, Sample
from tests.support.made_up_runs import GIB, MIB

RESIDENT = ResidentMemory(2 * GIB, "the model")


def readings(sources: dict[str, str] | None = None, **values: Any) -> RunReadings:
    made = RunReadings()
    made.apply_sample(Sample(t_s=1.0, **values), 1.0)
    told = [FieldSource(field, "bytes", absent=why) for field, why in (sources or {}).items()]
    made.apply_sources(FieldSources(t_s=1.0, sources=told))
    return made


GPU: dict[str, Any] = {
    "device_total_bytes": 16 * GIB,
    "device_used_bytes": 15 * GIB,
    "device_process_bytes": 12 * GIB,
    "allocator_in_use_bytes": 5 * GIB,
}


def sizes(picture_parts: object) -> list[float]:
    assert isinstance(picture_parts, tuple)
    return [part.n_bytes / GIB for part in picture_parts]


def test_the_parts_of_a_gpu_are_all_of_it():
    picture = device_split_state(readings(**GPU), RESIDENT, "tensorflow")

    assert sizes(picture.parts) == [2, 3, 7, 3, 1]
    assert picture.reach == 16 * GIB
    assert picture.title == "VRAM"
    lacking = [row for row in picture.rows if not row.text]
    assert [row.title for row in lacking] == ["Free inside the framework's pool"]
    assert "TensorFlow does not report" in lacking[0].source


def test_tensorflows_hold_on_the_gpu_is_explained():
    words = " ".join(device_split_state(readings(**GPU), RESIDENT, "tensorflow").paragraphs)

    assert "until its process ends" in words
    assert "nvidia-smi" in words
    assert "memory growth" in words


@pytest.mark.parametrize(("backend", "word"), [("torch", "empty_cache"), ("jax", "PREALLOCATE")])
def test_other_frameworks_have_words_of_their_own(backend: str, word: str):
    assert word in " ".join(device_split_state(readings(**GPU), RESIDENT, backend).paragraphs)


def test_a_pool_that_is_told_has_a_free_part():
    told = readings(**GPU)
    told.apply_value("allocator_pool_bytes", 9 * GIB, 2.0)

    picture = device_split_state(told, RESIDENT, "torch")

    assert sizes(picture.parts) == [2, 3, 4, 3, 3, 1]
    assert all(row.text for row in picture.rows)


def test_a_container_that_hides_processes_leaves_them_together():
    values = {name: n for name, n in GPU.items() if name != "device_process_bytes"}
    why = "the driver reports no per-process memory in this container"

    picture = device_split_state(
        readings({"device_process_bytes": why}, **values), RESIDENT, "torch"
    )

    assert sizes(picture.parts) == [2, 3, 10, 1]
    assert any(row.source == why and not row.text for row in picture.rows)
    assert any("and other processes" in part.title for part in picture.parts)


def test_without_a_gpu_it_is_the_allocator_of_the_cpu():
    why = {"device_used_bytes": "no NVIDIA driver on this host"}

    picture = device_split_state(
        readings(why, allocator_in_use_bytes=64 * MIB), RESIDENT, "tensorflow"
    )

    assert picture.title == "Memory of the framework's allocator"
    assert len(picture.parts) == 2
    assert "No GPU" in picture.paragraphs[0]
    assert any(row.source == "no NVIDIA driver on this host" for row in picture.rows)


def test_an_unknown_model_leaves_what_is_in_use_in_one_part():
    picture = device_split_state(readings(**GPU), ResidentMemory(None, "no model"), "tensorflow")

    assert sizes(picture.parts) == [5, 7, 3, 1]
    assert any(row.source == "no model" for row in picture.rows)


def test_a_run_that_read_nothing_says_so_for_each_part():
    picture = device_split_state(RunReadings(), RESIDENT, "")

    assert picture.parts == ()
    assert {row.source for row in picture.rows} == {"not reported by this run"}
