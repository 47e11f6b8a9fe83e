"""`run_folds`: each fold in its own process; whatever one does, the study ends complete."""

import os
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import psutil
import pytest
from typing_extensions import override

from kmonitor_agent import FoldsRefused, run_folds
from kmonitor_agent.studies import bounds, runner
from kmonitor_agent.studies.fold import fold_seed
from kmonitor_agent.studies.fold_process import MemoryCgroup
from kmonitor_agent.studies.study_folder import StudyFolder
from tests.support import fold_functions as functions
from tests.support.fold_scripts import of_any_fold

pytestmark = pytest.mark.slow


def test_results_stand_in_the_order_of_the_folds(tmp_path: Path):
    study = run_folds(functions.told, folds=3, study=tmp_path / "study", at_once=2)

    assert [each.index for each in study.results] == [0, 1, 2]
    assert [each.value["seed"] for each in study.results] == [fold_seed(each) for each in range(3)]
    assert len({os.getpid(), *(each.value["pid"] for each in study.results)}) == 4
    assert all((each.directory / "note").read_text() == "kept" for each in study.results)
    assert study.complete
    assert study.ok


def test_each_way_to_end_is_told_apart_and_none_harms_the_others(tmp_path: Path):
    count = len(functions.WAYS)

    study = run_folds(
        functions.by_index, folds=count, study=tmp_path / "study", at_once=2, retries=0
    )

    assert study.complete
    assert [(each.cause, each.signal) for each in study.results] == [
        ("finished", ""),
        ("error", ""),
        ("killed", "SIGSEGV"),
        ("killed", "SIGKILL"),
        ("killed", "SIGINT"),
        ("error", ""),
        ("finished", ""),
        ("error", ""),
        ("out_of_memory", ""),
        ("error", ""),
    ]
    assert "no luck with fold 1" in study.results[1].why
    assert "return plain data" in study.results[5].why
    assert "status 4" in study.results[7].why
    assert study.results[9].why == "Unspeakable: its message cannot be read"
    printed = study.results[6].output
    assert printed.stat().st_size < 32 * 2**20
    assert "the last line" in printed.read_text()[-100:]
    assert str(study.attempts).count("killed (SIG") == 3
    assert (tmp_path / "study" / "attempts.txt").read_text().strip() == str(study.attempts)


@pytest.mark.parametrize(
    "function",
    [functions.leak, pytest.param(functions.leak_in_child, marks=pytest.mark.full)],
)
@pytest.mark.parametrize("by", ["the kernel, where it may", "watching"])
def test_a_fold_that_takes_more_memory_than_it_may_is_ended(
    tmp_path: Path, function: object, by: str, monkeypatch: pytest.MonkeyPatch
):
    if by == "watching":
        monkeypatch.setattr(MemoryCgroup, "create", lambda *_: None)

    study = run_folds(
        function,  # pyright: ignore[reportArgumentType]
        folds=1,
        study=tmp_path / "study",
        memory="300 MiB",
        retries=0,
    )

    (result,) = study.results
    assert result.cause == "out_of_memory"
    peak_bytes = result.attempts[0].peak_bytes
    assert peak_bytes < 2**30
    assert "(RAM peak by memory." not in result.why or peak_bytes > 290 * 2**20


class GroupOfKilledChild(MemoryCgroup):
    """A group whose kill is not seen before the fold's process is gone, as on a busy machine."""

    def __init__(self, number: Path) -> None:
        super().__init__(2, number)
        self._number = number

    @override
    def join(self, pid: int) -> bool:
        self._number.write_text(str(pid))
        return True

    @override
    def kills(self) -> int:
        return 0 if psutil.pid_exists(int(self._number.read_text())) else 1

    @override
    def remove(self) -> bool:
        return True


def test_a_fold_that_misses_a_killed_process_before_the_study_does_ran_out_of_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    group = GroupOfKilledChild(tmp_path / "number")
    monkeypatch.setattr(MemoryCgroup, "create", lambda *_: group)

    study = run_folds(
        functions.lose_child, folds=1, study=tmp_path / "study", memory="300 MiB", retries=0
    )

    (result,) = study.results
    assert result.cause == "out_of_memory"
    assert "killed one of its processes when they reached memory=300" in result.why
    assert "CalledProcessError" in result.why


def test_the_largest_fold_is_ended_before_the_host_runs_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(runner, "reserve_bytes", lambda _: 200 * 2**20)
    monkeypatch.setattr(runner, "available_memory_bytes", lambda: 100 * 2**20)

    study = run_folds(functions.leak, folds=1, study=tmp_path / "study", retries=0)

    (result,) = study.results
    assert result.cause == "out_of_memory"
    assert "this host had only 100.0 MiB of memory left" in result.why


def test_each_fold_is_pinned_to_a_gpu_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,GPU-5a")

    study = run_folds(functions.wait_for_each_other, folds=2, study=tmp_path / "study")

    assert sorted(study.values) == ["3", "GPU-5a"]
    assert sorted(each.device for each in study.attempts) == ["3", "GPU-5a"]


def test_a_fold_that_leaves_to_be_started_again_goes_on_and_loses_no_try(tmp_path: Path):
    study = run_folds(functions.leave_once, folds=1, study=tmp_path / "study", retries=0)

    assert study.values == ["went on at try 1"]
    assert len(study.attempts) == 1


@pytest.mark.full
def test_the_studys_process_does_not_grow_over_fifty_folds(tmp_path: Path):
    run_folds(functions.nothing, folds=3, study=tmp_path / "first")
    before = psutil.Process().memory_info().rss

    study = run_folds(functions.nothing, folds=50, study=tmp_path / "study")

    assert study.ok
    assert psutil.Process().memory_info().rss - before < 5 * 2**20
    assert not of_any_fold()


@pytest.mark.exposed
def test_a_fold_that_takes_longer_than_it_may_is_ended_and_tried_again(tmp_path: Path):
    study = run_folds(functions.wait, folds=1, study=tmp_path / "study", timeout_s=0.5)

    (result,) = study.results
    assert result.cause == "timeout"
    assert [each.attempt for each in result.attempts] == [1, 2]


def test_a_fold_without_steps_for_long_hangs_and_its_stacks_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(bounds, "LEAST_S", 0.5)

    study = run_folds(functions.hang, folds=1, study=tmp_path / "study", retries=0)

    (result,) = study.results
    assert result.cause == "hang"
    assert result.attempts[0].steps == 4
    assert "in hang" in result.output.read_text()


def test_what_was_killed_is_tried_again(tmp_path: Path):
    study = run_folds(functions.be_killed_once, folds=2, study=tmp_path / "study")

    assert study.values == [2, 2]
    assert [(each.fold, each.cause) for each in study.attempts] == [
        (0, "killed"),
        (1, "killed"),
        (0, "finished"),
        (1, "finished"),
    ]


def test_folds_are_seeded_and_equal_those_run_alone(tmp_path: Path):
    function = partial(functions.drawn, scale=2.0)

    together = run_folds(function, folds=3, study=tmp_path / "together", at_once=2)
    again = run_folds(function, folds=3, study=tmp_path / "again")

    assert together.values == again.values
    assert len({each[1] for each in together.values}) == 3


def test_folds_may_be_pairs_of_indices(tmp_path: Path):
    pairs = [(np.arange(4), np.array([4, 5])), ([4, 5], [0])]

    study = run_folds(functions.split, pairs, study=tmp_path / "study")

    assert study.values == [(6, 9), (9, 0)]
    with pytest.raises(FoldsRefused, match="was started with different splits"):
        run_folds(functions.split, pairs[::-1], study=tmp_path / "study")
    with pytest.raises(FoldsRefused, match="not a pair of indices"):
        run_folds(functions.split, [(1.5, 2)], study=tmp_path / "other")


def test_a_study_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first = run_folds(functions.by_index, folds=cast("int", np.int64(2)), study=tmp_path / "study")
    assert "earlier" not in capsys.readouterr().err

    second = run_folds(functions.by_index, folds=2, study=tmp_path / "study")

    told = "kmonitor: 1 of 2 folds finished earlier and will not be run again"
    assert told in capsys.readouterr().err

    assert second.results[0].value == first.results[0].value
    assert [each.fold for each in second.attempts] == [0, 1, 1]
    with pytest.raises(FoldsRefused, match="was started with different folds"):
        run_folds(functions.by_index, folds=3, study=tmp_path / "study")


@pytest.mark.parametrize("name", ["resume", "data"])
def test_a_folder_with_something_else_in_it_is_refused_and_left_as_it_is(
    tmp_path: Path, name: str
):
    (tmp_path / name / "0").mkdir(parents=True)
    (tmp_path / name / "0" / "mine").write_text("kept")

    with pytest.raises(FoldsRefused, match=f"is not a study folder: it contains '{name}'"):
        run_folds(functions.nothing, folds=1, study=tmp_path)

    assert [str(each.relative_to(tmp_path)) for each in sorted(tmp_path.rglob("*"))] == [
        *(name, f"{name}/0", f"{name}/0/mine"),
    ]


def test_a_study_runs_once_at_a_time(tmp_path: Path):
    held = StudyFolder(tmp_path / "study")

    with pytest.raises(FoldsRefused, match="is already running"):
        run_folds(functions.told, folds=1, study=tmp_path / "study")

    held.close()


def test_a_study_without_a_folder_is_kept_below_the_state_folder(kmonitor_home: Path):
    study = run_folds(functions.told, folds=1)

    assert study.directory.parent == kmonitor_home / "studies"
    assert study.ok


@pytest.mark.parametrize(
    ("given", "error", "told"),
    [
        ({"on": "fork"}, ValueError, "locks"),
        ({"on": "moon"}, ValueError, 'use on="local"'),
        ({"folds": 0}, ValueError, "folds=0"),
        ({"folds": "five"}, TypeError, "such as folds=5"),
        ({"retries": 1.5}, TypeError, "retries=1.5"),
        ({"timeout_s": -1}, ValueError, "timeout_s=-1"),
        ({"timeout_s": "1 h"}, TypeError, "not a number of seconds"),
        ({"memory": "much"}, ValueError, "12 GiB"),
        ({"study": ""}, TypeError, 'study="my-study"'),
        ({"at_once": True}, TypeError, "at_once=True"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_to_write(
    given: dict[str, object], error: type[Exception], told: str
):
    with pytest.raises(error, match=told):
        run_folds(functions.told, **given)  # pyright: ignore[reportArgumentType]
