"""The parts of a study on Ray, without a cluster: refusals, carrying, verdicts."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from kmonitor_agent import FoldsRefused, run_folds
from kmonitor_agent.studies.bounds import LearnedTimes, StepGaps, TimeBound
from kmonitor_agent.studies.fold_messages import FitPhase
from kmonitor_agent.studies.ray.cluster import RayCluster, task_failure
from kmonitor_agent.studies.ray.files import FileReceiver, file_parts
from kmonitor_agent.studies.ray.messages import (
    AttemptProgress,
    AttemptStarted,
    FilePart,
    TrainingEvents,
)
from kmonitor_agent.studies.ray.runner import RayAttempt, SpoolRelay
from kmonitor_agent.studies.run_folds import study_path
from kmonitor_agent.studies.study_folder import StudyPaths
from kmonitor_agent.wire.local.folders import Folders, make_studies_folder, studies_folder
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import Notice
from kmonitor_agent.wire.spool.folder import RunSpool
from kmonitor_agent.wire.spool.format import SessionFacts
from tests.support import fold_functions as functions


def test_without_ray_it_is_refused_with_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(FoldsRefused, match=r'pip install "ray'):
        run_folds(functions.told, folds=1, study=tmp_path / "study", on="ray")

    assert not (tmp_path / "study").exists()


def test_the_folder_of_studies_is_closed_to_others_though_one_was_left_open(folders: Folders):
    """A study without a folder makes its own first, under whatever umask."""
    studies_folder(folders).mkdir(parents=True, mode=0o755)

    assert make_studies_folder(folders).stat().st_mode & 0o777 == 0o700


def test_wherever_a_study_is_begun_its_folder_is_in_one_of_this_users_alone(folders: Folders):
    studies_folder(folders).mkdir(parents=True, mode=0o755)

    assert study_path(None, folders).parent.stat().st_mode & 0o777 == 0o700


def test_the_folder_of_studies_is_made_where_there_are_no_user_ids(
    folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delattr("os.getuid")

    assert make_studies_folder(folders).is_dir()


class FakeRay:
    """Calls to a cluster before a task is sent."""

    def __init__(self, *resources: dict[str, float]) -> None:
        self._resources = resources

    def nodes(self) -> list[dict[str, object]]:
        return [{"Alive": True, "Resources": each} for each in self._resources]


def test_each_fold_asks_for_a_gpu_where_there_are_any_and_for_its_memory():
    small, large = {"CPU": 4.0, "memory": 8e9}, {"CPU": 8.0, "GPU": 2.0, "memory": 16e9}
    cluster = RayCluster(FakeRay(small, large))

    cluster.need("10%")

    assert (cluster.task_resources.cpus, cluster.task_resources.gpus) == (1, 1)
    assert cluster.task_resources.memory_bytes == 800_000_000
    with pytest.raises(FoldsRefused, match="no node of the Ray cluster has"):
        cluster.need(20e9)


@pytest.mark.parametrize(
    ("name", "cause", "why"),
    [
        ("OutOfMemoryError", "out_of_memory", "Ray ended it"),
        ("NodeDiedError", "killed", "its node was lost"),
        ("WorkerCrashedError", "killed", "Ray worker"),
        ("TaskCancelledError", "killed", "canceled through Ray"),
        ("RuntimeEnvSetupError", "error", "could not start"),
    ],
)
def test_what_ray_says_of_a_task_is_told_apart(name: str, cause: str, why: str):
    failed = task_failure(type(name, (Exception,), {})("no more\nand a tail"))

    assert failed.cause == cause
    assert why in failed.why
    assert failed.is_set_up == (cause == "error")


def test_a_folds_files_arrive_as_they_were_and_only_in_its_folder(tmp_path: Path):
    there, here = StudyPaths(tmp_path / "there"), StudyPaths(tmp_path / "here")
    for paths in (there, here):
        for file in (paths.value_file(1), paths.output_file(1)):
            file.parent.mkdir(parents=True)
    there.value_file(1).write_bytes(b"value")
    there.output_file(1).write_bytes(b"second\n")
    here.output_file(1).write_bytes(b"first\n")
    (there.fold_folder(1) / "deep").mkdir()
    (there.fold_folder(1) / "deep" / "weights").write_bytes(b"x" * (5 * 2**20))
    (there.fold_folder(1) / "empty").touch()
    unpacking = FileReceiver(here, 1)

    for part in file_parts(there, 1, with_files=True):
        unpacking.write_part(part)

    assert not here.value_file(1).exists()
    unpacking.commit()
    assert here.value_file(1).read_bytes() == b"value"
    assert here.output_file(1).read_bytes() == b"first\nsecond\n"
    assert (here.fold_folder(1) / "deep" / "weights").stat().st_size == 5 * 2**20
    assert (here.fold_folder(1) / "empty").exists()
    for name in ("fold/../../escaped", "fold//etc/escaped", "escaped"):
        with pytest.raises(ValueError, match="does not belong to a fold"):
            unpacking.write_part(FilePart(name, b"", is_first=True))


def test_events_of_all_nodes_of_a_run_stand_in_one_row_and_a_hub_may_read_between(
    folders: Folders,
):
    carrier = SpoolRelay(folders.spool)

    for session, texts in (("one", "ab"), ("one", "c"), ("two", "de")):
        facts = SessionFacts(run="run1", session=session, host="far", pid=1, started_wall_s=1.0)
        bodies = [encode_event(Notice(t_s=0.0, level="info", code="x", text=t)) for t in texts]
        carrier.add(TrainingEvents(facts, bodies))
        carrier.flush()
        held = RunSpool.acquire(folders.spool / "run1")
        assert held is not None, "its lock is let go of"
        with held:
            last = held.last_seq
    carrier.close()

    spool = RunSpool.acquire(folders.spool / "run1")
    assert spool is not None
    with spool:
        events = list(spool.events())
    assert last == 5
    assert [each.seq for each in events] == [1, 2, 3, 4, 5]
    assert [each.facts.session for each in events if each.facts] == ["one"] * 3 + ["two"] * 2
    assert len(list((folders.spool / "run1").glob("*.events"))) == 2


def now(elapsed_s: float, silent_s: float = 0.0, phase: FitPhase = "step") -> AttemptProgress:
    return AttemptProgress(
        is_ready=True,
        elapsed_s=elapsed_s,
        steps=5,
        share=None,
        phase=phase,
        silent_s=silent_s,
        longest_gaps_s={"step": 1.0},
        held_bytes=1,
        peak_bytes=2,
        device="",
        resumed=False,
        runs={},
    )


def test_a_fold_on_a_node_is_judged_by_what_all_folds_taught():
    known = LearnedTimes(StepGaps({"between": 30.0, "step": 0.2}), [10.0, 12.0, 11.0])
    slow, hung, well, late = (RayAttempt(each, 1, None, known, TimeBound()) for each in range(4))
    for each in (slow, hung, well, late):
        each.task_started(AttemptStarted("id", "far", "/verdicts/0-1", has_folder=False))
    slow.note_progress(now(elapsed_s=61.0))
    hung.note_progress(now(elapsed_s=50.0, silent_s=91.0, phase="between"))
    well.note_progress(now(elapsed_s=50.0, silent_s=59.0))
    late.note_progress(now(elapsed_s=61.0, silent_s=55.0))

    verdicts = [each.judge(0.0) for each in (slow, hung, well, late)]

    assert [each and each.cause for each in verdicts] == ["timeout", "hang", None, "hang"]
    assert "that the finished folds suggest" in slow.ended_by("killed", "cancelled").why
    assert well.ended_by("killed", "its node was lost").cause == "killed"
    assert well.ended_by("killed", "its node was lost").node == "far"


def test_what_is_left_of_a_failed_tasks_stream_is_read_for_ray_prints_errors_that_nobody_read():
    class Failed(Exception): ...

    read: list[str] = []

    def get(ref: str, timeout: float) -> str:
        del timeout
        read.append(ref)
        raise Failed(ref)

    made_up = SimpleNamespace(
        exceptions=SimpleNamespace(RayError=Failed),
        wait=lambda refs, **_: ([] if "later" in refs else refs, []),
        get=get,
    )
    cluster = RayCluster(made_up)

    assert cluster.still_running([iter(["last item", "the task"]), "later"]) == ["later"]
    assert read == ["last item", "the task"]
