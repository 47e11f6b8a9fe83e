# pyright: basic
"""KerasTuner's tuners with each trial in a separate process, watched and bounded.

from kmonitor.integrations.keras_tuner import Hyperband
tuner = Hyperband(build_model, objective="val_loss", max_epochs=30, memory="8 GiB")
tuner.search(x, y, validation_data=(x_val, y_val))
"""

import functools
import inspect
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import keras_tuner as kt

from kmonitor.integrations import keras_trial
from kmonitor_agent.studies.attempts import Attempts
from kmonitor_agent.studies.carried_function import FoldsRefused, Usage, function_text
from kmonitor_agent.studies.host_resources import parse_memory_bound
from kmonitor_agent.studies.run_folds import FoldResult
from kmonitor_agent.studies.searches import TrialRunner

__all__ = ["BayesianOptimization", "GridSearch", "Hyperband", "InProcesses", "RandomSearch"]

USAGE: Final = Usage(
    caller="kmonitor's tuner",
    noun="trial",
    call='RandomSearch(build_model, objective="val_loss").search(x, y)',
    remedy="Pass a function that creates it: tuner.search(make_data, callbacks=make_callbacks).",
    goes_on="to continue, use the same tuner with overwrite=False",
)

_SPARED: Final = ("out of memory: ", "timeout: ", keras_trial.TOO_LARGE)
"""Beginnings of failure messages caused by hyperparameters, not by the script.

Such failures do not count for `max_consecutive_failed_trials`.
"""

_DEFAULT: Final = "default_objective"
"""KerasTuner's name for an objective that is returned as a single number."""

_OURS: Final = "processes"
"""Folder within the project's folder: data, output of the trials, attempts."""


class TrialsRefused(FoldsRefused, kt.errors.FatalError):
    """No process can load the functions of the search, which ends."""


class InProcesses:
    """Base to put before a tuner: `class Mine(InProcesses, keras_tuner.Hyperband)`.

    The tuner works as before, except that each execution of a trial is a fresh process, which
    returns all of its memory. A trial that runs out of memory, takes too long, hangs or is killed
    has failed, with the reason in its `message`; the search continues.

    Attributes:
        own_trial: Id of the trial and folder of its checkpoint in a trial's process; None
            elsewhere.
    """

    own_trial: tuple[str, str] | None = None
    oracle: Any
    hypermodel: Any
    executions_per_trial: Any
    remaining_trials: Any
    directory: Any
    project_name: Any
    project_dir: Any
    tuner_id: Any
    _is_worker: Any

    def __init__(
        self,
        *args: Any,
        memory: str | float | None = None,
        timeout_s: float | None = None,
        retries: int = 1,
        **kwargs: Any,
    ) -> None:
        """Take the tuner's arguments, and bounds for each process.

        Args:
            memory: See `run_folds`. Models that would take more are not built or not trained.
            timeout_s: See `run_folds`; applies to each execution of a trial.
            retries: See `run_folds`. A repeated execution continues after its last saved epoch.

        Raises:
            TypeError: An argument is of the wrong type.
            ValueError: An argument has an invalid value.
            FoldsRefused: The function cannot be sent to another process.
        """
        if kwargs.get("distribution_strategy") is not None:
            raise TypeError(
                "kmonitor's tuner: distribution_strategy= cannot be sent to another process;"
                " create the model within its scope in the function that builds it."
            )
        self._how = {"memory": memory, "timeout_s": timeout_s, "retries": retries}
        self._memory_bytes = parse_memory_bound(memory)
        self._hypermodel_argument = kwargs.get("hypermodel") or next(
            (each for each in args if not isinstance(each, kt.Oracle)), None
        )
        self._trial_runner: TrialRunner | None = None
        self._sizes: TrialRunner | None = None
        self._ended: set[str] = set()
        self._attempts = Attempts()
        super().__init__(*args, **kwargs)

    @property
    def attempts(self) -> Attempts:
        """Every attempt of every trial of the searches of this tuner; prints as a table."""
        return self._attempts if self._trial_runner is None else self._trial_runner.attempts

    def search(self, *args: Any, **kwargs: Any) -> None:
        """Search like the tuner. Arrays are written once, for all trials, to the project's folder.

        Args:
            args: Data: arrays, or a function that returns them (or a dataset, a generator) in each
                process.
            kwargs: Arguments of `fit`; data in the same forms as in `args`. `callbacks` may be a
                function that returns a list; a MonitorCallback is added to the callbacks.

        Raises:
            TypeError: A MonitorCallback is among the callbacks; each trial has one.
            FoldsRefused: An argument cannot be sent to another process; with a remedy in the
                message.
            KeyboardInterrupt: Ctrl+C; the same tuner with `overwrite=False` continues.
        """
        callbacks = kwargs.get("callbacks") or []
        if not callable(callbacks) and any(map(_is_ours, callbacks)):
            raise TypeError(
                "kmonitor's tuner: leave MonitorCallback out of callbacks; each trial already "
                "has one."
            )
        function = self._function(keras_trial.trial_in_a_process, args, kwargs)
        self._trial_runner = TrialRunner(
            function, study=self._folder(), usage=USAGE, called=self._called(), **self._how
        )
        try:
            if self._memory_bytes is not None:
                measure = self._function(keras_trial.size_in_a_process)
                how = {**self._how, "retries": 0}
                folder = self._folder() / "sizes"
                self._sizes = TrialRunner(measure, study=folder, usage=USAGE, quiet=True, **how)
            super().search(*args, **kwargs)  # pyright: ignore[reportAttributeAccessIssue]
        except KeyboardInterrupt as exc:
            raise exc.with_traceback(None) from None  # where we waited says nothing to the user
        finally:
            trials, self._trial_runner = self._trial_runner, None
            sizes, self._sizes = self._sizes, None
            self._attempts = trials.attempts
            if sizes is not None:
                sizes.close()
            trials.close()

    def run_trial(self, trial: Any, *args: Any, **kwargs: Any) -> Any:
        """Run each execution in a process and return the results for KerasTuner."""
        if self.own_trial is not None:
            return super().run_trial(trial, *args, **kwargs)  # pyright: ignore[reportAttributeAccessIssue]
        is_first = trial.trial_id not in self._ended
        results: list[Any] = []
        best: float | None = None
        for execution in range(self.executions_per_trial):
            result = self._executed(trial, execution, is_first=is_first)
            trial.hyperparameters = kt.HyperParameters.from_config(
                result.value[keras_trial.HYPERPARAMETERS]
            )
            outcome = keras_trial.results_of(result.value[keras_trial.RESULTS])
            results += outcome if isinstance(outcome, list) else [outcome]
            best = self._keep_if_better(trial, result, outcome, best)
        return results

    def on_trial_end(self, trial: Any) -> None:
        """End a trial like the tuner; a model that does not fit does not end the search."""
        self._ended.add(trial.trial_id)
        oracle = self.oracle
        if self._is_worker():
            super().on_trial_end(trial)  # pyright: ignore[reportAttributeAccessIssue]
            return
        trial.message = trial.message and keras_trial.failure_reason(trial.message)
        # It would count all that failed since the search began, at the end of every trial.
        most, oracle.max_consecutive_failed_trials = oracle.max_consecutive_failed_trials, -1
        try:
            super().on_trial_end(trial)  # pyright: ignore[reportAttributeAccessIssue]
        finally:
            oracle.max_consecutive_failed_trials = most
        failures = 0
        for ended_trial in reversed([oracle.trials[name] for name in oracle.end_order]):
            if ended_trial.status != "FAILED":
                break
            failures += not (ended_trial.message or "").startswith(_SPARED)
        if failures >= most and oracle.end_order[-1] == trial.trial_id:
            raise RuntimeError(
                f"Number of consecutive failures exceeded the limit of {most}.\n{trial.message}"
            )

    def get_trial_dir(self, trial_id: str) -> str:
        """The tuner's folder; a trial's process uses a separate folder until it has finished."""
        if self.own_trial is not None and trial_id == self.own_trial[0]:
            return self.own_trial[1]
        return super().get_trial_dir(trial_id)  # pyright: ignore[reportAttributeAccessIssue]

    def save(self) -> None:
        """Save like the tuner; a trial's process saves nothing."""
        if self.own_trial is None:
            super().save()  # pyright: ignore[reportAttributeAccessIssue]

    def reload(self) -> None:
        """Reload like the tuner; a trial's process needs no saved state."""
        if self.own_trial is None:
            super().reload()  # pyright: ignore[reportAttributeAccessIssue]

    def _populate_initial_space(self) -> None:
        """KerasTuner's hook, which builds models; here they are built in a process too."""
        if self.own_trial is not None or self.hypermodel is None:
            return
        oracle = self.oracle
        request = {
            keras_trial.HYPERPARAMETERS: oracle.get_space().get_config(),
            "memory_bytes": self._memory_bytes,
        }
        function = self._function(keras_trial.space_in_a_process)
        folder = self._folder() / "space"
        runner = TrialRunner(function, study=folder, usage=USAGE, quiet=True, **self._how)
        try:
            result = runner.run(0, lambda _: request)
        finally:
            runner.close()
        if not result.ok:
            raise RuntimeError(
                "kmonitor's tuner: the hypermodel's hyperparameters could not be read:"
                f" {result.cause.replace('_', ' ')}: {result.why} (see {result.output})"
            )
        oracle.update_space(kt.HyperParameters.from_config(result.value))

    def _configure_tensorboard_dir(
        self, callbacks: list[Any], trial: Any, execution: int = 0
    ) -> None:
        # WORKAROUND keras-tuner 1.4.8: on TensorFlow it imports tensorboard whether any callback
        # is one of it or not, and fails where it is not installed, as TensorFlow no longer brings
        # it along. Remove when it looks first.
        if any(type(each).__name__ == "TensorBoard" for each in callbacks):
            super()._configure_tensorboard_dir(callbacks, trial, execution)  # pyright: ignore[reportAttributeAccessIssue]

    def _executed(self, trial: Any, execution: int, *, is_first: bool) -> FoldResult:
        assert self._trial_runner is not None  # noqa: S101 - `search` is under way
        index = int(trial.trial_id) * self.executions_per_trial + execution
        request = self._trial_request(trial)
        # A search that was killed goes on: executions that finished are not run again.
        known = self._trial_runner.finished(index) if is_first else None
        if known is not None and known.value.get(keras_trial.REQUEST) == request:
            return known
        is_last = execution + 1 == self.executions_per_trial and self.remaining_trials == 0
        ahead = None if is_last else index + 1
        try:
            answers = {"trial": request, "size": self._size(index, request, ahead)}
            result = self._trial_runner.run(index, answers.__getitem__, ahead=ahead)
        except FoldsRefused as exc:
            raise TrialsRefused(exc.why) from None
        if not result.ok:
            message = f"{result.cause.replace('_', ' ')}: {result.why} (see {result.output})"
            if result.cause == "error":
                raise RuntimeError(message)
            raise kt.errors.FailedTrialError(message)
        if keras_trial.FATAL in result.value:
            raise kt.errors.FatalRuntimeError(result.value[keras_trial.FATAL])
        if keras_trial.FAILED in result.value:
            raise kt.errors.FailedTrialError(result.value[keras_trial.FAILED])
        return result

    def _size(self, index: int, request: dict[str, Any], ahead: int | None) -> dict[str, Any]:
        """Least memory of the trial's model, determined in a process that trains nothing.

        A failure here leads to no bound: the trial then fails by itself.
        """
        if self._sizes is None:
            return {}
        result = self._sizes.run(index, lambda _: request, ahead=ahead)
        return result.value if result.ok else {}

    def _trial_request(self, trial: Any) -> dict[str, Any]:
        objective = self.oracle.objective
        is_default = objective.name == _DEFAULT
        several = getattr(objective, "objectives", None) or ([] if is_default else [objective])
        return {
            "id": trial.trial_id,
            keras_trial.HYPERPARAMETERS: trial.hyperparameters.get_config(),
            "objective": [[each.name, each.direction] for each in several],
            "memory_bytes": self._memory_bytes,
            "directory": str(Path(self.directory).absolute()),
            "project_name": self.project_name,
        }

    def _keep_if_better(
        self, trial: Any, result: FoldResult, outcome: Any, best: float | None
    ) -> float | None:
        """Move the checkpoint of an execution to the trial, unless an earlier one was better."""
        value = self._best_value(outcome)
        is_worse = (
            best is not None
            and value is not None
            and not self.oracle.objective.better_than(value, best)
        )
        if is_worse:
            return best
        folder = Path(super().get_trial_dir(trial.trial_id))  # pyright: ignore[reportAttributeAccessIssue]
        for file in result.directory.iterdir():
            if file.is_file():
                fresh = folder / f"{file.name}.new"
                shutil.copyfile(file, fresh)
                fresh.replace(folder / file.name)
        return value

    def _best_value(self, outcome: Any) -> float | None:
        """Best value of the objective over an outcome's epochs; None if they do not contain it."""
        objective = self.oracle.objective
        values = []
        for execution in outcome if isinstance(outcome, list) else [outcome]:
            history = getattr(execution, "history", None) or {}
            if not objective.has_value(history):
                return None
            epochs = zip(*history.values(), strict=False)
            values += [objective.get_value(dict(zip(history, row, strict=True))) for row in epochs]
        best: float | None = None
        for value in values:
            if best is None or objective.better_than(value, best):
                best = value
        return best

    def _function(
        self,
        called: Callable[..., Any],
        args: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
    ) -> Callable[..., Any]:
        """The function that a process calls, with all its arguments."""
        names = ("max_model_size", "optimizer", "loss", "metrics")
        return functools.partial(
            called,
            tuner=type(self),
            hypermodel=self._hypermodel_argument,
            settings={name: getattr(self, name, None) for name in names},
            args=args,
            named=dict(named or {}),
        )

    def _called(self) -> str:
        """Name of the search: "train.py: build_model", or the tuner's if it builds models."""
        hypermodel = self._hypermodel_argument
        is_function = inspect.isfunction(hypermodel) or isinstance(hypermodel, functools.partial)
        if is_function:
            return function_text(hypermodel)
        return type(self if hypermodel is None else hypermodel).__name__

    def _folder(self) -> Path:
        return Path(self.project_dir).absolute() / f"{_OURS}-{self.tuner_id}"


class RandomSearch(InProcesses, kt.RandomSearch):
    """`keras_tuner.RandomSearch` with each trial in a separate process."""


class BayesianOptimization(InProcesses, kt.BayesianOptimization):
    """`keras_tuner.BayesianOptimization` with each trial in a separate process."""


class Hyperband(InProcesses, kt.Hyperband):
    """`keras_tuner.Hyperband` with each trial in a separate process."""


class GridSearch(InProcesses, kt.GridSearch):
    """`keras_tuner.GridSearch` with each trial in a separate process."""


def _is_ours(callback: object) -> bool:
    # Keras has a class of that name too.
    return any(kind.__module__ == "kmonitor_agent.callback" for kind in type(callback).__mro__)
