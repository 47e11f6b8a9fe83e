"""Optuna's trials, each in a process of its own.

from kmonitor.integrations.optuna import in_processes
study.optimize(in_processes(objective, memory="4 GiB"), n_trials=20)
"""

import atexit
import builtins
import datetime as dt
import functools
import threading
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, Self, cast

import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import BaseTrial, Trial
from typing_extensions import override

from kmonitor_agent.studies.attempts import AttemptCause, Attempts
from kmonitor_agent.studies.fold import Fold, NotAnswered
from kmonitor_agent.studies.function_source import Usage, note_handed_over, source_of
from kmonitor_agent.studies.rereading import stop_if_loading
from kmonitor_agent.studies.run_folds import FoldResult
from kmonitor_agent.studies.searches import TrialRunner
from kmonitor_agent.wire.text import printable

__all__ = ["TrialError", "in_processes"]


# Optuna trial.


PRUNED: Final = "pruned"
VALUES: Final = "values"


def objective_in_a_process(fold: Fold, *, objective: Callable[[Any], Any]) -> dict[str, Any]:
    """Call the objective; what came of it, as plain data.

    Args:
        fold: Asks the real trial.
        objective: The user's.
    """
    try:
        value = objective(RemoteTrial(fold))
    except optuna.TrialPruned as exc:
        fold.set_outcome("pruned", str(exc))
        return {PRUNED: str(exc)}
    return {VALUES: value if isinstance(value, Sequence) or value is None else float(value)}


class RemoteTrial(BaseTrial):
    """A trial whose every call is one of the real trial, in the process of the search.

    Attributes:
        fold: This trial's fold: its `seed`, its `directory`.
    """

    def __init__(self, fold: Fold) -> None:
        """Keep who asks."""
        self.fold = fold

    @override
    def suggest_float(
        self,
        name: str,
        low: float,
        high: float,
        *,
        step: float | None = None,
        log: bool = False,
    ) -> float:
        """As Optuna's."""
        return self._request("suggest_float", name, low, high, step=step, log=log)

    @override
    def suggest_int(
        self, name: str, low: int, high: int, *, step: int = 1, log: bool = False
    ) -> int:
        """As Optuna's."""
        return self._request("suggest_int", name, low, high, step=step, log=log)

    @override
    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        """As Optuna's."""
        return self._request("suggest_categorical", name, [*choices])

    @override
    def suggest_uniform(self, name: str, low: float, high: float) -> float:
        """As Optuna's, which prefers `suggest_float`."""
        return self.suggest_float(name, low, high)

    @override
    def suggest_loguniform(self, name: str, low: float, high: float) -> float:
        """As Optuna's, which prefers `suggest_float`."""
        return self.suggest_float(name, low, high, log=True)

    @override
    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> float:
        """As Optuna's, which prefers `suggest_float`."""
        return self.suggest_float(name, low, high, step=q)

    @override
    def report(self, value: float, step: int) -> None:
        """As Optuna's."""
        self._request("report", float(value), int(step))

    @override
    def should_prune(self) -> bool:
        """As Optuna's."""
        return self._request("should_prune")

    @override
    def set_user_attr(self, key: str, value: Any) -> None:
        """As Optuna's; plain data."""
        self._request("set_user_attr", key, value)

    @override
    def set_constraint(self, key: str, value: float) -> None:
        """As Optuna's."""
        self._request("set_constraint", key, float(value))

    def set_system_attr(self, key: str, value: Any) -> None:
        """As Optuna's before 5.0, which refuses a trial without it."""
        self._request("set_system_attr", key, value)

    @property
    def system_attrs(self) -> dict[str, Any]:
        """As Optuna's before 5.0, which refuses a trial without them."""
        return self._request("system_attrs")

    @property
    @override
    def params(self) -> dict[str, Any]:
        """As Optuna's."""
        return self._request("params")

    @property
    @override
    def distributions(self) -> dict[str, BaseDistribution]:
        """Not told to a process of its own. Raises: AttributeError."""
        raise AttributeError("a trial in a process of its own does not know its distributions")

    @property
    @override
    def user_attrs(self) -> dict[str, Any]:
        """As Optuna's."""
        return self._request("user_attrs")

    @property
    @override
    def constraints(self) -> dict[str, float]:
        """As Optuna's."""
        return self._request("constraints")

    @property
    @override
    def datetime_start(self) -> dt.datetime | None:
        """As Optuna's."""
        return dt.datetime.fromisoformat(self._request("datetime_start"))

    @property
    @override
    def number(self) -> int:
        """As Optuna's."""
        return self._request("number")

    def _request(self, name: str, *args: Any, **named: Any) -> Any:
        try:
            return self.fold.ask((name, list(args), named))
        except NotAnswered as exc:
            raise _kind(exc.kind)(exc.why) from None


def _kind(name: str) -> type[Exception]:
    """The exception of that name, where it is one of Python's own."""
    builtin = getattr(builtins, name, None)
    return (
        builtin if isinstance(builtin, type) and issubclass(builtin, Exception) else RuntimeError
    )


USAGE: Final = Usage(
    caller="in_processes",
    noun="trial",
    example="objective",
    argument="trial",
    call="study.optimize(in_processes({name}), n_trials=20)",
    file="my_search.py",
    goes_on="study.optimize goes on, in another process if the study has a storage",
)

_CAUSE: Final = "kmonitor:cause"
_WHY: Final = "kmonitor:why"
_PEAK: Final = "kmonitor:peak_bytes"
_SECONDS: Final = "kmonitor:seconds"
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
"""What a trial's process may call or read of the real trial, and nothing else."""


class TrialError(RuntimeError):
    """A trial's objective raised, or its process ended; for Optuna's `catch=(TrialError,)`.

    Attributes:
        cause: As in the attempts: "error", "out_of_memory", "timeout", "hang", "killed".
        why: What is known of it, in words; of an error the exception's type and message.
        output: File with what it printed, the traceback too.
    """

    def __init__(self, cause: AttemptCause, why: str, output: Path) -> None:
        message = printable(f"{cause.replace('_', ' ')}: {why} (what it printed: {output})")
        super().__init__(message)
        self.cause: AttemptCause = cause
        self.why = why
        self.output = output


class _NoValue(float):
    """NaN, which Optuna takes for a trial that failed, and prints with the reason."""

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


class ObjectiveInProcesses:
    """An objective whose every call is a process; made by `in_processes`."""

    def __init__(self, runner: TrialRunner, raises: frozenset[str], first: int) -> None:
        """Keep the parts.

        Args:
            runner: Runs them; closed with this.
            first: Index of the trial that comes first.
            raises: Causes that end the search unless Optuna catches `TrialError`.
        """
        self._trial_runner = runner
        self._raises = raises
        # Optuna does not say when a search is over; nobody holds its objective any longer then.
        self._closes = weakref.finalize(self, runner.close)
        self._lock = threading.Lock()
        self._next = first

    @property
    def directory(self) -> Path:
        """Where what the trials print, and the attempts, are kept."""
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
            FoldsRefused: No process finds the objective.
        """
        with self._lock:
            index, self._next = self._next, self._next + 1
        try:
            result = self._trial_runner.run(index, functools.partial(_answer_question, trial))
        except KeyboardInterrupt as exc:
            raise exc.with_traceback(None) from None  # where we waited says nothing to the user
        # What a trial raises keeps its search alive to the end: it is closed then, before the
        # links of this process are, which were registered earlier.
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
        """The search is over; without it, when nobody holds the objective any longer."""
        self._closes()


def in_processes(
    objective: Callable[[Trial], float | Sequence[float]],
    *,
    memory: str | float | None = None,
    timeout_s: float | None = None,
    retries: int = 1,
    study: str | Path | None = None,
    raises: Sequence[Literal["error", "out_of_memory", "timeout", "hang", "killed"]] = ("error",),
) -> ObjectiveInProcesses:
    """An objective for `study.optimize` that runs each trial in a fresh process.

    The objective's `trial` is answered by the real one: `suggest_float`, `suggest_int`,
    `suggest_categorical`, `report`, `should_prune`, `set_user_attr`, `params`, `number`. A trial
    that ran out of memory, took too long, hung or was killed is Optuna's FAIL, and the search
    goes on; "kmonitor:cause" and "kmonitor:why" of its `user_attrs` say what happened.

    Args:
        objective: Stands where a function of `run_folds` may stand; a `functools.partial` of it
            may give plain data by name. Returns a number, or several.
        memory: As for `run_folds`, for each trial.
        timeout_s: Likewise.
        retries: Likewise. A trial that is tried again gets the same suggestions.
        study: Folder for what the trials print and the attempts; None: a new one below kmonitor's
            state folder.
        raises: Causes that raise `TrialError`, which ends the search unless it is in `catch=`.

    Raises:
        TypeError: An argument is of the wrong type.
        ValueError: An argument makes no sense.
        FoldsRefused: No process could find the objective, or the folder is in use.
    """
    stop_if_loading(objective)
    source_of(objective, USAGE)
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
    note_handed_over()
    return ObjectiveInProcesses(runner, frozenset(raises), first)


def _answer_question(trial: Trial, question: Any) -> Any:
    name, args, named = cast("tuple[str, list[Any], dict[str, Any]]", question)
    if name not in _FORWARDED:
        raise AttributeError(f"a trial in a process of its own has no {name}")
    found: Any = getattr(trial, name)
    answer: Any = found(*args, **named) if callable(found) else found
    return answer.isoformat() if name == "datetime_start" else answer
