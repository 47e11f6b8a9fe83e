"""Growth of memory that comes with resources which the script never gives back."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from kmonitor.hub.judge.run_judge import RunJudge
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.verdict_text import verdict_headline
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    Event,
    NamedResource,
    ResourcesNamed,
    Sample,
    Verdict,
)
from tests.support.growing_run import MIB, Growing, events_of


def sharing(a_unit_mib: float, n: int, each: int = 1) -> Iterator[Event]:
    """A run whose memory grows by 8 MiB an epoch, and its shared memory, read in some epochs."""
    for event in events_of(Growing(ram_mib=8.0), n):
        if not isinstance(event, Sample) or event.epoch is None or event.epoch % each:
            yield event
            continue
        blocks = event.epoch + 1
        yield replace(event, shared_memory_bytes=a_unit_mib * blocks * MIB)
        named = [NamedResource("block", "/dev/shm/psm_*", blocks)]  # noqa: S108
        yield ResourcesNamed(t_s=event.t_s, metric="shared_memory", named=named)


def verdicts_on_ram(events: Iterator[Event]) -> list[Verdict]:
    judge = RunJudge()
    found: list[Verdict] = []
    for event in events:
        judge.read(event.t_s, event)
        judge.judge()
        if isinstance(event, EpochEnded):
            found += [one for one in judge.newest_verdicts() if one.metric == "ram"]
    return found


def test_blocks_of_shared_memory_are_the_cause_of_growth_that_they_explain():
    verdict = verdicts_on_ram(sharing(8.0, 24))[-1]

    assert (verdict.state, verdict.cause, verdict.sureness) == ("suspected", "blocks", "counted")
    assert verdict.advice == ["unlink_blocks", "share_less"]
    assert with_plain_spaces(verdict_headline(verdict)) == (
        "leak suspected: blocks of shared memory are created and never unlinked (/dev/shm/psm_*):"
        " +8.00 MiB / epoch"
    )


def test_blocks_that_explain_less_than_half_are_not_the_cause():
    assert {each.cause for each in verdicts_on_ram(sharing(3.0, 24))} <= {"", "unknown"}


@pytest.mark.parametrize(("each", "by_unit"), [(1, 9), (2, 10)])
def test_counted_blocks_are_called_within_eight_units(each: int, by_unit: int):
    """In units that are shorter than the pause between samples, only some have a reading."""
    found = verdicts_on_ram(sharing(8.0, 14, each))

    called = [one for one in found if one.state == "growing" and one.cause == "blocks"]
    assert called[0].unit <= by_unit
    assert called[-1] is found[-1]


KINDS = {"threads": "thread", "open_files": "file", "processes": "child"}


def beside(metric: str, name: str, a_unit: int, n: int = 14) -> Iterator[Event]:
    """A run whose memory and number of resources of one name grow."""
    for event in events_of(Growing(ram_mib=8.0), n):
        if not isinstance(event, Sample) or event.epoch is None:
            yield event
            continue
        count = 5 + a_unit * event.epoch
        fields = {metric: 20.0 + count}
        yield replace(event, **fields)
        if event.epoch % 3 == 0:
            named = [NamedResource(KINDS[metric], name, count)]
            yield ResourcesNamed(t_s=event.t_s, metric=metric, named=named)


@pytest.mark.parametrize(
    ("metric", "cause", "text", "advice"),
    [
        ("threads", "threads", "threads that never end (part-*) may retain it", "pool_once"),
        (
            "open_files",
            "files",
            "files, sockets or pipes that are never closed (part-*) may retain it",
            "close_files",
        ),
        (
            "processes",
            "processes",
            "child processes that never end (part-*) may retain it",
            "fewer_workers",
        ),
    ],
)
def test_resources_that_grow_beside_memory_fit_it(metric: str, cause: str, text: str, advice: str):
    verdict = verdicts_on_ram(beside(metric, "part-*", 1))[-1]

    assert (verdict.state, verdict.cause, verdict.sureness) == ("growing", cause, "fitting")
    assert text in with_plain_spaces(verdict_headline(verdict))
    assert verdict.advice[0] == advice
    assert "diagnose" in verdict.advice


@pytest.mark.parametrize(("name", "a_unit"), [("tf_Compute", 2), ("part-*", 0)])
def test_threads_of_tensorflow_or_that_do_not_grow_fit_nothing(name: str, a_unit: int):
    verdict = verdicts_on_ram(beside("threads", name, a_unit))[-1]

    assert (verdict.state, verdict.cause) == ("growing", "unknown")
