"""Diagnoses name lines and rule Python out only where they can show it."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.ui.verdicts.verdict_text import advice_of, cause_text, grew_with_lines
from kmonitor_agent.wire.messages.events import (
    AllocationGrowth,
    Diagnosis,
    EpochEnded,
    Event,
    FitEnded,
    FitStarted,
    ObjectGrowth,
    Verdict,
)
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES
from tests.support.growing_run import MIB, epoch_with

N = 30
A_UNIT_MIB = 8.0
LISTS = ObjectGrowth("builtins.list", 900, 90)
EAGER = ObjectGrowth("tensorflow.python.framework.ops.EagerTensor", 700, 400)


def counted(epoch: int, *objects: ObjectGrowth, fit: int = 1) -> Diagnosis:
    t_s = 10.0 * epoch + 9.2
    return Diagnosis(t_s, fit=fit, epoch=epoch, seconds=0.1, objects=list(objects))


def traced(epoch: int, mib: float, fit: int = 1) -> Diagnosis:
    """Lines that were traced until the end of an epoch."""
    lines = [AllocationGrowth("train.py:12", int(mib * MIB)), AllocationGrowth("b.py:1", 9)]
    return Diagnosis(10.0 * epoch + 9.1, fit=fit, epoch=epoch, seconds=0.1, allocations=lines)


def events(
    *diagnoses: Diagnosis, per_fit: bool = False, freed_mib: float = 0.0
) -> Iterator[Event]:
    """Epochs, or fits of one epoch, after which diagnoses come; counts of objects free garbage."""
    yield FitStarted(0.0, fit=1, model="m")
    for epoch in range(N):
        freed = sum(bool(each.objects) and each.epoch < epoch for each in diagnoses)
        ram_mib = 1000.0 + A_UNIT_MIB * epoch - freed_mib * freed
        yield from epoch_with(epoch, ram_mib, malloc_bytes=ram_mib * MIB)
        yield from (each for each in diagnoses if each.epoch == epoch)
        if per_fit:
            yield FitEnded(10.0 * epoch + 9.5, fit=epoch + 1, how="finished")
            yield FitStarted(10.0 * epoch + 9.6, fit=epoch + 2, model="m")


def judged(*diagnoses: Diagnosis, per_fit: bool = False) -> Verdict:
    judge = RunJudge()
    for event in events(*diagnoses, per_fit=per_fit):
        judge.read(event.t_s, event)
        judge.judge()
    return next(each for each in judge.newest_verdicts() if each.metric == "ram")


FIRST = (counted(9, ObjectGrowth("builtins.list", 810)), traced(10, 0.1))


def second(*objects: ObjectGrowth, mib: float = 0.1) -> tuple[Diagnosis, Diagnosis]:
    return counted(19, *objects), traced(20, mib)


def test_a_baseline_does_not_rule_python_out():
    found = judged(*FIRST)

    assert (found.cause, found.advice) == ("malloc", ["diagnose", "restart"])


@pytest.mark.parametrize("grown", [LISTS, ObjectGrowth("train.Net", 9, 3)])
def test_a_comparison_without_new_tensors_rules_python_out(grown: ObjectGrowth):
    found = judged(*FIRST, *second(grown))

    assert (found.cause, found.advice) == ("native", ["bisect", "restart"])


@pytest.mark.parametrize("grown", [EAGER, ObjectGrowth("builtins.function", 90_000, 20)])
def test_objects_that_grew_with_the_unit_may_hold_what_python_does_not_allocate(
    grown: ObjectGrowth,
):
    found = judged(*FIRST, *second(LISTS, grown))

    assert (found.cause, found.advice) == ("malloc", ["find_holder", "restart"])
    assert grown.kind in cause_text(found)
    assert grown.kind in advice_of(found)[0].text
    (line,) = grew_with_lines(found)[1:]
    assert line.startswith(f"number of retained objects ({grown.kind}) +")


def test_a_diagnosis_that_ended_with_its_fit_says_nothing_of_what_is_between_fits():
    diagnoses = [
        each for n in (9, 19) for each in (counted(n, LISTS, fit=n + 1), traced(n, 0.1, fit=n + 1))
    ]

    found = judged(*diagnoses, per_fit=True)

    assert (found.per, found.cause) == ("fit", "malloc")


def test_a_line_that_allocates_about_what_grows_is_named_with_it():
    found = judged(counted(9, LISTS), traced(10, 7.0))

    assert (found.cause, found.name) == ("python", "train.py:12")
    assert "train.py:12" in advice_of(found)[0].text
    assert "memory allocated by Python is not freed" in cause_text(found)


def test_a_line_whose_older_memory_is_freed_is_no_rate_of_growth():
    found = judged(counted(9, LISTS), traced(10, 45.0))

    assert (found.cause, found.name) == ("malloc", "train.py:12")
    assert {one.kind for one in found.grew_with} == {"native_bytes"}
    text = cause_text(found)
    assert "most is from train.py:12, and older memory is freed" in text
    assert "45" not in text


@pytest.mark.parametrize("freed_mib", [20.0, 80.0])
def test_garbage_that_diagnoses_collect_is_no_end_of_growth(freed_mib: float):
    judge = RunJudge()
    found: list[Verdict] = []
    for event in events(*FIRST, *second(LISTS), freed_mib=freed_mib):
        judge.read(event.t_s, event)
        judge.judge()
        found += [one for one in judge.newest_verdicts() if one.metric == "ram"]

    alarmed = next(n for n, one in enumerate(found) if one.state in ALARMED_STATES)
    assert {one.state for one in found[alarmed:]} <= ALARMED_STATES
    assert found[-1].slope == pytest.approx(A_UNIT_MIB * MIB, rel=0.02)


@pytest.mark.parametrize("count", ["python_blocks", "allocator_in_use_bytes", "malloc_bytes"])
def test_advice_remains_once_diagnoses_are_complete(count: str):
    judge = RunJudge()
    for event in events(*FIRST, *second(LISTS)):
        if isinstance(event, EpochEnded):
            grown = 70_000.0 * event.epoch if count == "python_blocks" else 8 * MIB * event.epoch
            others = {"malloc_bytes": None, count: 1e9 + grown}
            judge.read(event.t_s, replace(event, **others))
        else:
            judge.read(event.t_s, event)
        judge.judge()
    ram = next(each for each in judge.newest_verdicts() if each.metric == "ram")

    assert "diagnose" not in ram.advice
    assert any(each.command is None for each in advice_of(ram))
