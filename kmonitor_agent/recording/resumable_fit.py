"""A fit that is saved for, or resumed from, another process; on its training thread.

Variables, plain attributes of callbacks, random states and the position in the data are saved. The
script builds the model again, which must have the same variables.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from kmonitor_agent.frameworks.base import (
    KerasModel,
    ReclaimSteps,
    StateUnreadable,
    StateVariable,
)
from kmonitor_agent.frameworks.detection import fit_resumer
from kmonitor_agent.frameworks.global_state import read_random_states, write_random_states
from kmonitor_agent.frameworks.model_building import CannotBuild, read_build_config
from kmonitor_agent.frameworks.model_parts import name_of
from kmonitor_agent.frameworks.resuming import FitData, IteratorStart
from kmonitor_agent.frameworks.script_values import safe_bool, safe_getattr
from kmonitor_agent.guard import describe_exception
from kmonitor_agent.reclaim.checkpoints import Checkpoint, SaveRefused
from kmonitor_agent.reclaim.restart.callback_states import read_callbacks, write_callbacks
from kmonitor_agent.reclaim.restart.fit_state import (
    CannotResume,
    FitState,
    FitStateStore,
    RestartOrigin,
    SavedFit,
    VariableFacts,
    shape_text,
    variable_facts,
)
from kmonitor_agent.recording.fit import Fit

_SAVING_PART: Final = 0.1
"""Maximum part of the training's time for saves without a request."""


@dataclass(frozen=True, slots=True)
class SaveResult:
    """Result of a save of a fit's state.

    Attributes:
        seconds: Time that the training waited, seconds.
        checkpoint: Committed checkpoint; None if nothing was committed.
        left_out: State that is not saved, as texts.
        why: Reason why nothing was committed; empty if a state was.
    """

    seconds: float
    checkpoint: Checkpoint | None = None
    left_out: tuple[str, ...] = ()
    why: str = ""


class ResumableFit:
    """Saves and restores one fit, in the hooks of the fit's last callback."""

    def __init__(
        self,
        fit: Fit,
        run: str,
        store: FitStateStore,
        saved: SavedFit | None,
        resumed: Callable[[str], None],
    ) -> None:
        """Call before Keras' callbacks are called for the fit's begin.

        Args:
            saved: State that an earlier process committed of this fit; None if there is none.
            resumed: Called once with the reason why the saved state was not resumed; empty if it
                was.
        """
        self._fit = fit
        self._run = run
        self._state_store = store
        self._saved = saved
        self._resumed: Callable[[str], None] | None = resumed
        self._data: FitData | None = None
        self._iterator = None if saved is None else saved.state.iterator
        self._epochs_before = 0 if saved is None else saved.state.epochs_run
        self._evaluations = 0 if saved is None else saved.state.evaluations
        self._next_save_s = 0.0

    @property
    def is_left_out(self) -> bool:
        """True if the fit had finished in an earlier process, and runs no epoch now."""
        return self._saved is not None and self._saved.state.kind == "end"

    def begin(self, model: KerasModel, callbacks: Sequence[Any]) -> None:
        """Resume from the saved state; after all other callbacks at the fit's begin.

        Raises:
            CannotResume: The script differs from the one that saved the state.
        """
        if self._saved is None:
            return
        try:
            self._restore(self._saved, model, callbacks)
        except CannotResume as exc:
            self._report_resumed(exc.why)
            raise
        except Exception as exc:
            why = describe_exception(exc)
            self._report_resumed(why)
            raise CannotResume(why) from exc

    def _restore(self, saved: SavedFit, model: KerasModel, callbacks: Sequence[Any]) -> None:
        state = saved.state
        data = fit_resumer(model).find_data()
        if data is None:
            raise CannotResume(
                "this version of Keras does not keep the data of a fit where kmonitor expects it"
            )
        if state.model != name_of(model):
            raise CannotResume(
                f'it was a fit of the model "{state.model}" and is now a fit of'
                f' "{name_of(model)}": the script\'s fits must run in the same order each time'
            )
        steps = _steps(self._fit)
        build_model_like_saved(steps, model, saved)
        restore_variables(steps, model, saved)
        goes_on = not self._is_over(data)
        data.skip_epochs(state.epochs_run, goes_on=goes_on, start=state.iterator)
        data.skip_evaluations(model, state.evaluations)
        if not self.is_left_out:
            write_callbacks(state.callbacks, callbacks)
            write_random_states(state.random)
            data.write_generators(state.generators)
        if not state.stopped:
            data.settle()
        self._data = data
        fit_resumer(model).begin_at(model, state.next_epoch if goes_on else data.epochs)
        model.stop_training = state.stopped

    def epoch_started(self, model: KerasModel) -> None:
        """Prepare the data for an epoch; `fit` has read its first epoch, which Keras never resets.

        Raises:
            CannotResume: The resumed fit would continue differently.
        """
        try:
            fit_resumer(model).begin_at(model, None)
            if self._data is not None:
                data, self._data = self._data, None
                data.begin_first_epoch()
        except Exception as exc:
            if self._saved is None:
                raise
            raise CannotResume(describe_exception(exc)) from exc
        try:
            self._note_iterator(model)
        except Exception as exc:
            self._fit.why_not_restart = (
                f"the position in its data is unknown: {describe_exception(exc)}"
            )
            raise
        self._report_resumed("")

    def _note_iterator(self, model: KerasModel) -> None:
        """Keep the random states from which the iterator of this and later epochs draws."""
        data = fit_resumer(model).find_data()
        has_iterator = None if data is None else data.has_iterator()
        if data is not None and has_iterator is not None:
            self._iterator = IteratorStart(
                self._epochs_run(), has_iterator, read_random_states(), data.read_generators()
            )

    def _report_resumed(self, why: str) -> None:
        resumed, self._resumed = self._resumed, None
        if resumed is not None and self._saved is not None and not self.is_left_out:
            resumed(why)

    def _epochs_run(self) -> int:
        return self._epochs_before + self._fit.epochs_done

    def evaluated(self) -> None:
        """Count a validation of the fit."""
        self._evaluations += 1

    def end(self, model: KerasModel, callbacks: Sequence[Any], limits: str) -> SaveResult:
        """Commit the end of the fit, or restore its end from an earlier process.

        Raises:
            CannotResume: The end cannot be restored.
        """
        saved = self._saved
        if saved is None or not self.is_left_out:
            fit_resumer(model).begin_at(model, None)
            self._report_resumed("")
            return self.save("end", model, callbacks, limits=limits)
        try:
            self._put_back_end(saved, model, callbacks)
        except CannotResume:
            raise
        except Exception as exc:
            raise CannotResume(describe_exception(exc)) from exc
        return SaveResult(0.0)

    def _put_back_end(self, saved: SavedFit, model: KerasModel, callbacks: Sequence[Any]) -> None:
        fit_resumer(model).begin_at(model, None)
        self._report_resumed("")
        restore_variables(_steps(self._fit), model, saved)
        write_callbacks(saved.state.callbacks, callbacks)
        write_random_states(saved.state.random)
        if self._data is not None:
            self._data.write_generators(saved.state.generators)
            self._data = None
        model.stop_training = saved.state.stopped

    def is_due(self, why_not: str = "") -> bool:
        """True if state may be saved again without a request.

        Args:
            why_not: Reason why another process could not continue from it.
        """
        return not why_not and time.monotonic() >= self._next_save_s

    def save(
        self,
        kind: Literal["epoch", "end"],
        model: KerasModel,
        callbacks: Sequence[Any],
        *,
        origin: RestartOrigin | None = None,
        limits: str = "",
    ) -> SaveResult:
        """Commit the fit's state; never raises for failures of framework or disk.

        Args:
            kind: "epoch" at an epoch's end, "end" at the fit's end.
            callbacks: Callbacks of the fit, all already called for the epoch's end.
            limits: Limits that were set by command, encoded.
        """
        began_s = time.monotonic()
        try:
            why = fit_resumer(model).why_not_resumable(model, callbacks)
            if why:
                return SaveResult(0.0, why=why)
            steps = _steps(self._fit)
            variables = steps.state(model)
            state = replace(
                self._state(kind, model, callbacks),
                variables=variable_facts(variables),
                state_bytes=sum(each.n_bytes for each in variables),
                limits=limits,
                origin=origin or RestartOrigin(),
            )
            checkpoint = self._state_store.save(state, variables, steps.read)
        except (SaveRefused, StateUnreadable, CannotResume) as exc:
            return SaveResult(time.monotonic() - began_s, why=exc.why)
        except Exception as exc:  # noqa: BLE001 - a save that fails must never end the training
            return SaveResult(time.monotonic() - began_s, why=describe_exception(exc))
        seconds = time.monotonic() - began_s
        self._next_save_s = time.monotonic() + seconds / _SAVING_PART
        return SaveResult(seconds, checkpoint, state.left_out)

    def _state(
        self, kind: Literal["epoch", "end"], model: KerasModel, callbacks: Sequence[Any]
    ) -> FitState:
        plain, left_out = read_callbacks(callbacks)
        keras = fit_resumer(model)
        data = keras.find_data()
        return FitState(
            run=self._run,
            fit=self._fit.ordinal,
            kind=kind,
            model=name_of(model),
            next_epoch=self._fit.epoch + 1,
            epochs_run=self._epochs_run(),
            evaluations=self._evaluations,
            stopped=safe_bool(safe_getattr(model, "stop_training")),
            build_config=read_build_config(model),
            optimizers=keras.read_trained(model),
            callbacks=plain,
            random=read_random_states(),
            generators=[] if data is None else data.read_generators(),
            iterator=self._iterator,
            left_out=left_out,
        )

    def _is_over(self, data: FitData) -> bool:
        if self._saved is None:
            return False
        state = self._saved.state
        return state.kind == "end" or state.stopped or state.next_epoch >= data.epochs


def _steps(fit: Fit) -> ReclaimSteps:
    steps = fit.framework.reclaim_steps()
    if steps is None:
        why = fit.framework.info().unavailable.get("reload", "")
        raise CannotResume(why or "this framework's state cannot be saved")
    return steps


def build_model_like_saved(steps: ReclaimSteps, model: KerasModel, saved: SavedFit) -> None:
    """Create every variable that the model had when it was saved.

    Raises:
        CannotResume: The model differs, or cannot be built.
    """
    state = saved.state
    keras = fit_resumer(model)
    try:
        keras.build_again(model, state.build_config, state.optimizers)
    except CannotBuild as exc:
        raise CannotResume(exc.why) from exc
    had_seed = any(_group(each.path) == "seed" for each in state.variables)
    if had_seed and not any(_group(each.path) == "seed" for each in steps.state(model)):
        keras.make_global_seed()


def restore_variables(steps: ReclaimSteps, model: KerasModel, saved: SavedFit) -> None:
    """Assign the saved values.

    Metrics are reset at each epoch's begin, and may not be built yet: if they differ from before,
    they are left as they are.

    Raises:
        CannotResume: The model has other variables than before.
    """
    current = steps.state(model)
    targets = _targets(current, saved.state.variables)
    values = saved.values()
    for target in targets:
        value = next(values)
        if target is not None:
            steps.assign(target.variable, value)


def _targets(
    current: Sequence[StateVariable], before: Sequence[VariableFacts]
) -> list[StateVariable | None]:
    if _current_shapes(current, "metrics") == _shapes(before, "metrics"):
        left: list[StateVariable] = list(current)
    else:
        left = [each for each in current if _group(each.path) != "metrics"]
    has_metrics = any(_group(each.path) == "metrics" for each in left)
    targets: list[StateVariable | None] = []
    rest = iter(left)
    for facts in before:
        if _group(facts.path) == "metrics" and not has_metrics:
            targets.append(None)
            continue
        target = next(rest, None)
        if target is None or _differs(target, facts):
            current_text = (
                "nothing"
                if target is None
                else _variable_text(target.path, shape_text(target.variable))
            )
            raise CannotResume(
                f"the model had {_variable_text(facts.path, facts.shape)} but now has"
                f" {current_text}"
            )
        targets.append(target)
    extra = next(rest, None)
    if extra is not None and _group(extra.path) != "seed":
        raise CannotResume(f"the model has a new variable: {extra.path}")
    return targets


def _differs(target: StateVariable, facts: VariableFacts) -> bool:
    is_same = _group(target.path) == _group(facts.path)
    return not is_same or shape_text(target.variable) != facts.shape


def _variable_text(path: str, shape: str) -> str:
    return f"{path} of shape {shape}"


def _shapes(facts: Sequence[VariableFacts], group: str) -> list[str]:
    return [each.shape for each in facts if _group(each.path) == group]


def _current_shapes(state: Sequence[StateVariable], group: str) -> list[str]:
    return [shape_text(each.variable) for each in state if _group(each.path) == group]


def _group(path: str) -> str:
    return path.partition("/")[0]
