"""An Optuna trial in its own process; the real trial answers each call."""

import builtins
import datetime as dt
from collections.abc import Callable, Sequence
from typing import Any, Final

import optuna
from optuna.distributions import BaseDistribution
from optuna.trial import BaseTrial
from typing_extensions import override

from kmonitor_agent.studies.fold import Fold, NotAnswered

PRUNED: Final = "pruned"
VALUES: Final = "values"


def objective_in_a_process(fold: Fold, *, objective: Callable[[Any], Any]) -> dict[str, Any]:
    """Call the objective and return its result as plain data.

    Args:
        fold: Passes requests to the real trial.
        objective: The user's objective.
    """
    try:
        value = objective(RemoteTrial(fold))
    except optuna.TrialPruned as exc:
        fold.set_outcome("pruned", str(exc))
        return {PRUNED: str(exc)}
    return {VALUES: value if isinstance(value, Sequence) or value is None else float(value)}


class RemoteTrial(BaseTrial):
    """A trial that forwards every call to the real trial, in the process of the search.

    Attributes:
        fold: This trial's fold: its `seed`, its `directory`.
    """

    def __init__(self, fold: Fold) -> None:
        """Args: `fold`: Sends the requests."""
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
        return self._request("suggest_float", name, low, high, step=step, log=log)

    @override
    def suggest_int(
        self, name: str, low: int, high: int, *, step: int = 1, log: bool = False
    ) -> int:
        return self._request("suggest_int", name, low, high, step=step, log=log)

    @override
    def suggest_categorical(self, name: str, choices: Sequence[Any]) -> Any:
        return self._request("suggest_categorical", name, [*choices])

    @override
    def suggest_uniform(self, name: str, low: float, high: float) -> float:
        """Deprecated by Optuna in favour of `suggest_float`."""
        return self.suggest_float(name, low, high)

    @override
    def suggest_loguniform(self, name: str, low: float, high: float) -> float:
        """Deprecated by Optuna in favour of `suggest_float`."""
        return self.suggest_float(name, low, high, log=True)

    @override
    def suggest_discrete_uniform(self, name: str, low: float, high: float, q: float) -> float:
        """Deprecated by Optuna in favour of `suggest_float`."""
        return self.suggest_float(name, low, high, step=q)

    @override
    def report(self, value: float, step: int) -> None:
        self._request("report", float(value), int(step))

    @override
    def should_prune(self) -> bool:
        return self._request("should_prune")

    @override
    def set_user_attr(self, key: str, value: Any) -> None:
        """Set a user attribute to plain data."""
        self._request("set_user_attr", key, value)

    @override
    def set_constraint(self, key: str, value: float) -> None:
        self._request("set_constraint", key, float(value))

    def set_system_attr(self, key: str, value: Any) -> None:
        """Set a system attribute; Optuna before 5.0 requires this method."""
        self._request("set_system_attr", key, value)

    @property
    def system_attrs(self) -> dict[str, Any]:
        """System attributes; Optuna before 5.0 requires this property."""
        return self._request("system_attrs")

    @property
    @override
    def params(self) -> dict[str, Any]:
        return self._request("params")

    @property
    @override
    def distributions(self) -> dict[str, BaseDistribution]:
        """Not available in a trial's own process. Raises: AttributeError."""
        raise AttributeError("the distributions are not available to a trial in its own process")

    @property
    @override
    def user_attrs(self) -> dict[str, Any]:
        return self._request("user_attrs")

    @property
    @override
    def constraints(self) -> dict[str, float]:
        return self._request("constraints")

    @property
    @override
    def datetime_start(self) -> dt.datetime | None:
        return dt.datetime.fromisoformat(self._request("datetime_start"))

    @property
    @override
    def number(self) -> int:
        return self._request("number")

    def _request(self, name: str, *args: Any, **named: Any) -> Any:
        try:
            return self.fold.ask((name, list(args), named))
        except NotAnswered as exc:
            raise _kind(exc.kind)(exc.why) from None


def _kind(name: str) -> type[Exception]:
    """The built-in exception of this name, else `RuntimeError`."""
    builtin = getattr(builtins, name, None)
    return (
        builtin if isinstance(builtin, type) and issubclass(builtin, Exception) else RuntimeError
    )
