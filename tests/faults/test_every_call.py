"""Each call that the agent makes into the system or a library fails once; the training continues.

Each has a training in its own process: `fit` raises nothing, its result is that of the plain
fit to the bit, nothing is printed, the process ends on its own, and the records hold every
requested action, done or with its failure. Counts and the names of calls that were never reached
go to `artefacts/faults/`. Allocations fail by CPython's own test hook.
"""

import importlib.util
import json
import random
from collections.abc import Iterator

import pytest

from tests.support.failing_trainings import (
    ERRORS,
    Case,
    FailingTrainings,
    Report,
    is_of_shard,
)
from tests.support.fault_sites import NAMED, OTHERS, all_sites
from tests.support.running_tests import LONG
from tests.support.source_tree import ROOT

pytestmark = [pytest.mark.keras, pytest.mark.slow, LONG]

SHARDS = 12
ALLOCATIONS = 150
"""Places for each action at which some allocations in a row fail."""

KNOWN = (
    "reclaim.py call clear",
    "callback.py call weakref.ref",
    "reclaim.py call sys.getrefcount",
    "callback.py call threading.get_ident",
    "step_clock.py call perf_counter",
)
"""Calls that ended a fit in kmonitor 0.1, as file and callee; the first two in `make test`."""


@pytest.fixture(scope="module")
def trainings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FailingTrainings]:
    with FailingTrainings(tmp_path_factory.mktemp("home")) as found:
        yield found


def rotating(sites: dict[str, tuple[str, int]], fit: str) -> Iterator[Case]:
    """One kind of error at each site; of those met often, the last time."""
    for n, (site, (kind, times)) in enumerate(sites.items()):
        error = ERRORS[n % len(ERRORS)] if kind in NAMED else "MemoryError"
        yield Case(fit, site, 1 if n % 2 else times, error)


def short_name(site: str) -> str:
    place, _, what = site.partition(" ")
    return f"{place.partition(':')[0].rpartition('/')[2]} {what}"


def judge(report: Report, name: str) -> None:
    folder = ROOT / "artefacts" / "faults"
    folder.mkdir(parents=True, exist_ok=True)
    found = {
        "injected": report.injected,
        "not_reached": report.not_reached,
        "wrong": report.wrong,
    }
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1))
    assert not report.wrong, "\n\n".join(report.wrong)
    # Threads of ours may come to a call or not; most must have been reached.
    assert len(report.not_reached) <= report.injected // 4, report.not_reached


@pytest.mark.promise(14)
@pytest.mark.parametrize(
    "chosen", [KNOWN[:2], pytest.param(KNOWN[2:], marks=pytest.mark.full)], ids=["two", "others"]
)
def test_calls_that_ended_a_fit_once_do_not_any_more(
    trainings: FailingTrainings, chosen: tuple[str, ...]
):
    sites = trainings.sites("reload", NAMED)
    known = {short: site for site in reversed(sites) if (short := short_name(site)) in chosen}
    assert known.keys() == set(chosen)

    report = trainings.run(Case("reload", site, 1, "MemoryError") for site in known.values())

    assert not report.wrong, "\n\n".join(report.wrong)
    assert report.injected == len(chosen)


@pytest.mark.promise(14)
@pytest.mark.full
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("shard", range(SHARDS))
def test_each_call_of_a_light_fit_fails(trainings: FailingTrainings, shard: int, error: str):
    sites = trainings.sites("light", NAMED)

    report = trainings.run(
        Case("light", site, 1, error) for site in sites if is_of_shard(site, shard, SHARDS)
    )

    judge(report, f"light-{error}-{shard}")


@pytest.mark.promise(14)
@pytest.mark.full
@pytest.mark.parametrize("shard", range(SHARDS))
@pytest.mark.parametrize("fit", ["full", "recreate", "leave", "take_up"])
def test_each_call_of_a_fit_that_acts_fails(trainings: FailingTrainings, fit: str, shard: int):
    sites = trainings.sites(fit, NAMED)
    if fit != "full":  # what a light fit calls too has failed there
        light = trainings.sites("light", NAMED)
        sites = {site: each for site, each in sites.items() if site not in light}

    report = trainings.run(
        case for case in rotating(sites, fit) if is_of_shard(case.site, shard, SHARDS)
    )

    judge(report, f"{fit}-{shard}")


@pytest.mark.promise(14)
@pytest.mark.full
@pytest.mark.parametrize("shard", range(SHARDS))
def test_memory_fails_at_each_call_of_python_and_libraries(
    trainings: FailingTrainings, shard: int
):
    light = trainings.sites("light", OTHERS)
    reload = trainings.sites("reload", OTHERS)
    cases = [Case("light", site, 1, "MemoryError") for site in light]
    cases += [Case("reload", site, 1, "MemoryError") for site in reload if site not in light]

    report = trainings.run(each for each in cases if is_of_shard(each.site, shard, SHARDS))

    judge(report, f"memory-{shard}")


@pytest.mark.promise(14)
@pytest.mark.full
@pytest.mark.parametrize("action", ["collect", "reload"])
def test_allocations_fail_while_an_action_runs(trainings: FailingTrainings, action: str):
    if importlib.util.find_spec("_testcapi") is None:
        pytest.skip("this Python has no _testcapi, which makes allocations fail")
    chosen = random.Random(7)  # noqa: S311 - the same places each time
    wrong: list[str] = []
    for _ in range(ALLOCATIONS):
        first, count = int(10 ** chosen.uniform(0, 5.2)), chosen.choice((1, 1, 10, 100))
        answer = trainings.ordered(fit=action, allocations=[action, first, count])
        if why := trainings.what_is_wrong(action, answer):
            wrong.append(f"{count} allocations from the {first}. on: {why}")

    assert not wrong, "\n\n".join(wrong)


@pytest.mark.full
def test_calls_that_no_training_reaches_are_named(trainings: FailingTrainings):
    reached: set[str] = set()
    for fit in ("light", "full", "recreate", "leave", "take_up"):
        reached |= trainings.sites(fit, (*NAMED, *OTHERS)).keys()
    calls = all_sites()

    left = {file: [site for site in sites if site not in reached] for file, sites in calls.items()}

    folder = ROOT / "artefacts" / "faults"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "never-reached.json").write_text(json.dumps(left, indent=1))
    assert reached


def test_every_module_can_be_numbered():
    calls = all_sites()

    assert sum(map(len, calls.values())) > 3000
    assert len({site for sites in calls.values() for site in sites}) == sum(
        map(len, calls.values())
    )
