"""`run_folds` calls a function once for each fold, each in a fresh process, and returns a `Study`.

It checks the arguments, opens the study's folder and leaves the work to a runner: of this machine
or of a Ray cluster. A search (`searches`) shares the options and the results.
"""

import functools
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final, cast
from uuid import uuid4

from typing_extensions import override

from kmonitor_agent.studies.attempts import Attempt, Attempts, StudyListenerGroup, ending_text
from kmonitor_agent.studies.bounds import TimeBound
from kmonitor_agent.studies.carried_function import (
    RUN_FOLDS,
    CarriedFunction,
    FoldsRefused,
    Usage,
    carry,
)
from kmonitor_agent.studies.host_resources import parse_memory_bound, visible_gpus
from kmonitor_agent.studies.launch import AttemptLauncher, StudyOptions
from kmonitor_agent.studies.ray.cluster import check_installed, open_cluster
from kmonitor_agent.studies.ray.jobs import AttemptJobFactory
from kmonitor_agent.studies.ray.runner import RayRunner
from kmonitor_agent.studies.runner import FoldQueue, LocalRunner
from kmonitor_agent.studies.study_folder import StudyFacts, StudyFolder
from kmonitor_agent.studies.study_reporter import StudyReporter
from kmonitor_agent.studies.terminal_progress import TerminalProgress
from kmonitor_agent.wire.local.folders import (
    Folders,
    expand_user,
    find_folders,
    make_studies_folder,
)
from kmonitor_agent.wire.local.private_files import NotPrivate
from kmonitor_agent.wire.messages.study_events import FoldCause

_MOST_FOLDS: Final = 100_000
_MOST_RETRIES: Final = 1000
_MOST_AT_ONCE: Final = 1024
_LONGEST_S: Final = 1e9

_FORK: Final = (
    'run_folds: on="fork" is refused: a forked process inherits TensorFlow\'s locks without the'
    " threads that would release them, and hangs at its first operation. Leave on= out: each fold"
    " is a fresh process."
)


def run_folds(  # noqa: PLR0913 - the user's arguments
    train_fold: Callable[..., Any],
    folds: int | Iterable[Any] = 5,
    *,
    timeout_s: float | None = None,
    memory: str | float | None = None,
    retries: int = 1,
    at_once: int | None = None,
    study: str | Path | None = None,
    on: str = "local",
) -> "Study":
    """Call a function for each fold, each in a fresh process, and collect the results.

        study = run_folds(train_fold, KFold(5).split(x), memory="8 GiB")
        print(study.attempts, study.values)

    If a fold fails, the others continue, and its result has the reason. A fold's process gets the
    function with the values that it uses and Keras' settings; the script does not run again there.

    Args:
        train_fold: Any function; receives a `Fold`, returns plain data: None, numbers, strings,
            bytes, lists, dicts, arrays. A `functools.partial` adds further arguments.
        folds: Number of folds, or a splitter's pairs of indices, for `fold.train`, `fold.test`.
        timeout_s: Maximum time of an attempt, seconds. None: learned from the finished folds.
        memory: Maximum memory of a fold and all its processes: "4 GiB", "40%", or a number of
            bytes. None: as much as the host can spare.
        retries: How often a killed fold is retried. It continues exactly where it was if its fits
            have a MonitorCallback, otherwise it starts again.
        at_once: Number of parallel folds. None: one per GPU, or one; with Ray as many as fit.
        study: Folder of the study. The same call continues it, and runs no finished fold again.
            None: a new folder below kmonitor's state folder.
        on: "local", or "ray" for a Ray cluster: that of `ray.init`, or of RAY_ADDRESS, else a Ray
            on this machine. Each attempt gets a CPU, a GPU if there are any, and `memory`.

    Returns:
        The `results`, one per fold, and all `attempts`, also if folds failed.

    Raises:
        TypeError, ValueError: An argument is not valid. The message says what to write.
        FoldsRefused: The function cannot be pickled, Ray was not found, or the folder is in use.
        KeyboardInterrupt: Ctrl+C. All processes have ended; the same call with `study=` resumes.
    """
    _check_runner(on)
    RUN_FOLDS.check(train_fold)
    wanted = study_options(timeout_s, memory, retries, at_once)
    wanted = _for_a_cluster(wanted, at_once) if on == "ray" else wanted
    try:
        return _run(train_fold, wanted, folds, study, _runner_of(on, memory))
    except KeyboardInterrupt as exc:
        raise exc.with_traceback(None) from None  # where we waited says nothing to the user


@dataclass(frozen=True, slots=True)
class FoldResult:
    """Result of one fold.

    Attributes:
        index: Number of the fold, from 0.
        ok: True if its function returned.
        value: The returned value; None if it did not return.
        cause: End of its last attempt: "finished", "error", "out_of_memory", "timeout", "hang" or
            "killed".
        signal: Name of the signal that killed its last attempt ("SIGSEGV"); empty if none did.
        why: Reason why it did not finish, as text; empty if it finished.
        attempts: All attempts, oldest first.
        output: File with the last part of its output.
        directory: `Fold.directory` of this fold.
    """

    index: int
    ok: bool
    value: Any
    cause: FoldCause
    signal: str
    why: str
    attempts: tuple[Attempt, ...]
    output: Path
    directory: Path

    @override
    def __repr__(self) -> str:
        detail = f"value={self.value!r:.80}" if self.ok else f"why={self.why!r:.200}"
        return f"FoldResult(index={self.index}, cause={self.cause!r}, {detail})"


@dataclass(frozen=True, slots=True)
class Study:
    """Result of `run_folds`.

    Attributes:
        results: One result per fold, in order.
        attempts: All attempts; prints as a table.
        directory: Folder of the study; `run_folds(..., study=directory)` continues it.
        folds: Number of folds.
    """

    results: tuple[FoldResult, ...]
    attempts: Attempts
    directory: Path
    folds: int

    @property
    def complete(self) -> bool:
        """True if each fold returned or has a reason why not."""
        return [each.index for each in self.results] == list(range(self.folds))

    @property
    def ok(self) -> bool:
        """True if each fold finished."""
        return self.complete and all(each.ok for each in self.results)

    @property
    def values(self) -> list[Any]:
        """Returned values in the order of the folds; None for a fold that did not finish."""
        return [each.value for each in self.results]

    @override
    def __repr__(self) -> str:
        finished = sum(each.ok for each in self.results)
        return f"Study({finished} of {self.folds} folds finished)\n{self.attempts}"


def _check_runner(on: object) -> None:
    if on == "fork":
        raise ValueError(_FORK)
    if on not in {"local", "ray"}:
        raise ValueError(
            f'run_folds: on={on!r} is not valid; use on="local" or on="ray", or leave it out.'
        )
    if not sys.executable:
        raise FoldsRefused(
            "run_folds: this Python does not report where its executable is (sys.executable is"
            " empty). Run the script with a regular Python interpreter."
        )


def study_options(
    timeout_s: object,
    memory: str | float | None,
    retries: object,
    at_once: object,
    *,
    usage: Usage = RUN_FOLDS,
    answers: Callable[[int, Any], Any] | None = None,
) -> StudyOptions:
    """Options from the user's arguments, checked; the function is not pickled yet.

    Args:
        timeout_s: As for `run_folds`.
        usage: Call through which the user passed the function, for messages.
        answers: See `StudyOptions`.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: An argument is not valid.
    """
    limit = None if at_once is None else _count("at_once", at_once, 1, _MOST_AT_ONCE)
    names = tuple(visible_gpus())
    return StudyOptions(
        carried=CarriedFunction(usage=usage),
        retries=_count("retries", retries, 0, _MOST_RETRIES),
        at_once=limit or max(1, len(names)),
        time=TimeBound(_seconds(timeout_s)),
        memory_bytes=parse_memory_bound(memory),
        devices=names,
        answers=answers,
        noun=usage.noun,
    )


def _count(argument: str, value: object, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"run_folds: {argument}={value!r} is not a whole number.")
    number = int(value)  # numpy's are whole numbers too
    if not least <= number <= most:
        raise ValueError(f"run_folds: {argument}={number} is not between {least} and {most}.")
    return number


def _seconds(timeout_s: object) -> float | None:
    if timeout_s is None:
        return None
    if isinstance(timeout_s, bool) or not isinstance(timeout_s, Real):
        raise TypeError(f"run_folds: timeout_s={timeout_s!r} is not a number of seconds.")
    if not 0 < float(timeout_s) <= _LONGEST_S:
        raise ValueError(
            f"run_folds: timeout_s={timeout_s} is not valid; use a positive number of seconds."
        )
    return float(timeout_s)


def _for_a_cluster(options: StudyOptions, at_once: int | None) -> StudyOptions:
    check_installed()
    return replace(options, at_once=at_once or _MOST_AT_ONCE, devices=())


@dataclass(frozen=True, slots=True)
class _StartedStudy:
    study_options: StudyOptions
    facts: StudyFacts
    folder: StudyFolder
    fold_queue: FoldQueue
    folders: Folders


def _run(
    function: object,
    options: StudyOptions,
    folds: object,
    study: str | Path | None,
    run: Callable[[_StartedStudy], None],
) -> Study:
    folders = find_folders()
    progress = TerminalProgress()
    folder = StudyFolder(study_path(study, folders), progress.print_line)
    try:
        arrays = None if run is not _run_locally else folder.arrays_folder
        options = replace(options, carried=carry(function, options.carried.usage, arrays))
        return _run_in(folder, options, folds, run, folders, progress)
    except (FoldsRefused, TypeError, ValueError):
        if folder.is_new and not folder.attempts:
            folder.discard()  # nobody knows of it
        raise
    finally:
        folder.close()


def _run_in(
    folder: StudyFolder,
    options: StudyOptions,
    folds: object,
    run: Callable[[_StartedStudy], None],
    folders: Folders,
    progress: TerminalProgress,
) -> Study:
    facts = _begin_study(folder, options.carried, folds)
    options = replace(options, at_once=min(options.at_once, facts.folds))
    left = sorted(set(range(facts.folds)) - folder.finished())
    reporter = StudyReporter(options, facts, folder, folders)
    queue = FoldQueue(options.retries, folder, StudyListenerGroup(progress, reporter))
    queue.begin(left, facts.folds - len(left))
    progress.begin(facts.folds, facts.folds - len(left))
    left_by: type[BaseException] | None = None
    try:
        run(_StartedStudy(options, facts, folder, queue, folders))
    except BaseException as exc:
        left_by = type(exc)
        if left_by is KeyboardInterrupt:
            same_call = f"the same call with study={str(folder.path)!r}"
            progress.interrupted(queue.done, f"{same_call} continues with the rest")
        raise
    finally:
        progress.close()
        reporter.close(left_by)
        folder.write_table()
    return study_result(folder, facts.folds)


def study_path(study: object, folders: Folders) -> Path:
    """Folder of a study, as the user named it; for None a new one that only this user can read.

    Raises:
        TypeError: `study` is not a path.
        FoldsRefused: No new folder can be created.
    """
    if study is None:
        try:
            return make_studies_folder(folders) / uuid4().hex
        except (OSError, NotPrivate) as exc:
            raise FoldsRefused(f"run_folds: cannot create a folder for the study: {exc}") from exc
    if not isinstance(study, str | Path) or not str(study):
        raise TypeError(f'run_folds: study={study!r} is not a path; use study="my-study".')
    return expand_user(str(study)).absolute()


def _begin_study(folder: StudyFolder, carried: CarriedFunction, folds: object) -> StudyFacts:
    count, splits = _counted(folder, folds)
    facts = StudyFacts(uuid4().hex, carried.text, count, splits, carried.arguments)
    try:
        return folder.begin(facts)
    except OSError as exc:
        raise FoldsRefused(f"run_folds: study={str(folder.path)!r} cannot be used: {exc}") from exc


def _counted(folder: StudyFolder, folds: object) -> tuple[int, str]:
    if isinstance(folds, Integral):
        return _count("folds", folds, 1, _MOST_FOLDS), ""
    if isinstance(folds, str | bytes) or not isinstance(folds, Iterable):
        remedy = "use a number, such as folds=5, or pairs of indices, such as KFold(5).split(x)"
        raise TypeError(f"run_folds: folds={folds!r} is not valid; {remedy}.")
    count, splits = folder.write_splits(cast("Iterable[Any]", folds))
    return _count("folds", count, 1, _MOST_FOLDS), splits


def _runner_of(on: str, memory: str | float | None) -> Callable[[_StartedStudy], None]:
    return functools.partial(_run_on_ray, memory=memory) if on == "ray" else _run_locally


def _run_locally(started: _StartedStudy) -> None:
    folder = started.folder
    launcher = AttemptLauncher(
        started.study_options, started.facts, folder, started.folders, folder.tried()
    )
    try:
        LocalRunner(started.study_options, launcher, started.fold_queue).run()
    finally:
        launcher.close()


def _run_on_ray(started: _StartedStudy, memory: str | float | None) -> None:
    if not started.fold_queue.waiting:
        return
    with open_cluster() as cluster:
        cluster.need(memory)
        gpus = cluster.task_resources.gpus
        factory = AttemptJobFactory(
            started.study_options, started.facts, started.folder.path, memory, gpus
        )
        RayRunner(
            started.study_options, cluster, factory, started.fold_queue, started.folders
        ).run()


def study_result(folder: StudyFolder, folds: int) -> Study:
    attempts = (each for each in folder.attempts if each.cause != "interrupted")
    table = Attempts(attempts, folder.trouble)
    finished = folder.finished()
    results = [
        _result(folder, [each for each in table if each.fold == index], index in finished)
        for index in range(folds)
        if any(each.fold == index for each in table)
    ]
    return Study(tuple(results), table, folder.path, folds)


def last_fold_result(folder: StudyFolder, index: int) -> FoldResult:
    """Result of one fold after its last attempt.

    Raises:
        LookupError: No attempt of the fold has ended, except by an interrupt.
        OSError: Its returned value cannot be read.
        ValueError: Its returned value is damaged.
    """
    attempts = [
        each for each in folder.attempts if each.fold == index and each.cause != "interrupted"
    ]
    return _result(folder, attempts, attempts[-1].cause == "finished")


def _result(folder: StudyFolder, attempts: Sequence[Attempt], is_finished: bool) -> FoldResult:  # noqa: FBT001
    last = attempts[-1]
    with suppress(OSError):  # reported as the study's trouble
        folder.fold_folder(last.fold)
    return FoldResult(
        index=last.fold,
        ok=is_finished,
        value=folder.value(last.fold) if is_finished else None,
        cause=last.cause,
        signal=last.signal,
        why="" if is_finished else folder.unread(last.fold) or last.why or ending_text(last),
        attempts=tuple(attempts),
        output=folder.output_file(last.fold),
        directory=folder.fold_path(last.fold),
    )
