"""Optuna's trials, each in a separate process.

from kmonitor.integrations.optuna import in_processes
study.optimize(in_processes(objective, memory="4 GiB"), n_trials=20)
"""

import atexit
import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Self, cast

import optuna
from optuna.trial import Trial
from typing_extensions import override

from kmonitor.integrations.optuna_trial import PRUNED, VALUES, objective_in_a_process
from kmonitor_agent.studies.attempts import Attempts
from kmonitor_agent.studies.carried_function import Usage
from kmonitor_agent.studies.run_folds import FoldResult
from kmonitor_agent.studies.searches import TrialRunner
from kmonitor_agent.wire.messages.study_events import FoldCause
from kmonitor_agent.wire.text import printable

__all__ = ["TrialError", "in_processes"]

USAGE: Final = Usage(
    caller="in_processes",
    noun="trial",
    call="study.optimize(in_processes(objective), n_trials=20)",
    goes_on=(
        "call study.optimize again to continue, in another process if the study has"
        " persistent storage"
    ),
)

_CAUSE: Final = "kmonitor:cause"
_WHY: Final = "kmonitor:why"
_PEAK: Final = "kmonitor:peak_bytes"
_SECONDS: Final = "kmonitor:seconds"


def in_processes(
    objective: Callable[[Trial], float | Sequence[float]],
    *,
    memory: str | float | None = None,
    timeout_s: float | None = None,
    retries: int = 1,
    study: str | Path | None = None,
    raises: Sequence[Literal["error", "out_of_memory", "timeout", "hang", "killed"]] = ("error",),
) -> "ObjectiveInProcesses":
    """Return an objective for `study.optimize` that runs each trial in a fresh process.

    The real trial answers the calls of the objective's `trial`: `suggest_float`, `suggest_int`,
    `suggest_categorical`, `report`, `should_prune`, `set_user_attr`, `params`, `number`. A trial
    that runs out of memory, takes too long, hangs or is killed gets Optuna's state FAIL, and the
    search continues; "kmonitor:cause" and "kmonitor:why" in its `user_attrs` give the reason.

    Args:
        objective: Function that returns a number, or several.
        memory: See `run_folds`; applies to each trial.
        timeout_s: See `run_folds`; applies to each trial.
        retries: See `run_folds`. A repeated trial gets the same suggestions.
        study: Folder for the output of the trials and the attempts; None: a new one below
            kmonitor's state folder.
        raises: Causes that raise `TrialError`, which ends the search unless it is in `catch=`.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: An argument has an invalid value.
        FoldsRefused: The objective cannot be sent to another process, or the folder is in use.
    """
    USAGE.check(objective)
    function = functools.partial(objective_in_a_process, objective=objective)
    runner = TrialRunner(
        function, study=study, memory=memory, timeout_s=timeout_s, retries=retries, usage=USAGE
    )
    first = 1 + max((each.fold for each in runner.attempts), default=-1)
    try:
        runner.find(first)
    except BaseException:
        runner.close()
        raise
    return ObjectiveInProcesses(runner, frozenset(raises), first)


class ObjectiveInProcesses:
    """An objective that runs each call in a process; created by `in_processes`.

    Args:
        runner: Runner of the trials; closed with this objective.
        raises: Causes that end the search unless Optuna catches `TrialError`.
        first: Index of the first trial.
    """

    def __init__(self, runner: TrialRunner, raises: frozenset[str], first: int) -> None:
        self._trial_runner = runner
        self._raises = raises
        # Optuna does not say when a search is over; nobody holds its objective any longer then.
        self._closes = weakref.finalize(self, runner.close)
        self._lock = threading.Lock()
        self._next = first

    @property
    def directory(self) -> Path:
        """Folder of the trials' output and of the attempts."""
        return self._trial_runner.directory

    @property
    def attempts(self) -> Attempts:
        """Every attempt of every trial so far; prints as a table."""
        return self._trial_runner.attempts

    def __call__(self, trial: Trial) -> float | Sequence[float]:
        """Run a trial to its end; Optuna calls this.

        Raises:
            optuna.TrialPruned: The objective raised it.
            TrialError: The trial ended for a cause that ends the search.
            FoldsRefused: No process can load the objective.
        """
        with self._lock:
            index, self._next = self._next, self._next + 1
        try:
            result = self._trial_runner.run(index, functools.partial(_answer_question, trial))
        except KeyboardInterrupt as exc:
            raise exc.with_traceback(None) from None  # where we waited says nothing to the user
        # An exception of a trial keeps its search alive until exit, when the search must close
        # before the links of this process, which were registered earlier.
        atexit.unregister(self._closes)
        atexit.register(self._closes)
        trial.set_user_attr(_CAUSE, result.cause)
        trial.set_user_attr(_SECONDS, sum(each.seconds for each in result.attempts))
        trial.set_user_attr(_PEAK, max(each.peak_bytes for each in result.attempts))
        return self._outcome(trial, result)

    def _outcome(self, trial: Trial, result: FoldResult) -> float | Sequence[float]:
        if result.ok and PRUNED in result.value:
            raise optuna.TrialPruned(result.value[PRUNED])
        if result.ok:
            return result.value[VALUES]
        trial.set_user_attr(_WHY, result.why)
        if result.cause in self._raises:
            raise TrialError(result.cause, result.why, result.output)
        return _NoValue(printable(f"{result.cause.replace('_', ' ')}: {result.why}"))

    def close(self) -> None:
        """End the search; otherwise it ends when the objective is garbage-collected."""
        self._closes()


class TrialError(RuntimeError):
    """A trial's objective raised, or its process ended; for Optuna's `catch=(TrialError,)`.

    Attributes:
        cause: Cause as in the attempts: "error", "out_of_memory", "timeout", "hang", "killed".
        why: Details as text; for an error the exception's type and message.
        output: File with the output of the trial, including the traceback.
    """

    def __init__(self, cause: FoldCause, why: str, output: Path) -> None:
        message = printable(f"{cause.replace('_', ' ')}: {why} (its output: {output})")
        super().__init__(message)
        self.cause: FoldCause = cause
        self.why = why
        self.output = output


class _NoValue(float):
    """NaN, which Optuna treats as a failed trial and prints with the reason."""

    def __new__(cls, why: str) -> Self:
        instance = super().__new__(cls, "nan")
        instance.why = why
        return instance

    why: str

    @override
    def __format__(self, format_spec: str) -> str:
        return f"nan ({self.why})"

    @override
    def __str__(self) -> str:
        return f"nan ({self.why})"


_FORWARDED: Final = frozenset(
    {
        "suggest_float",
        "suggest_int",
        "suggest_categorical",
        "report",
        "should_prune",
        "set_user_attr",
        "set_constraint",
        "set_system_attr",
        "system_attrs",
        "params",
        "user_attrs",
        "constraints",
        "datetime_start",
        "number",
    }
)
"""Names of the real trial that a trial's process may call or read; no others are allowed."""


def _answer_question(trial: Trial, question: Any) -> Any:
    name, args, named = cast("tuple[str, list[Any], dict[str, Any]]", question)
    if name not in _FORWARDED:
        raise AttributeError(f"a trial in its own process has no {name}")
    found: Any = getattr(trial, name)
    answer: Any = found(*args, **named) if callable(found) else found
    return answer.isoformat() if name == "datetime_start" else answer
