# pyright: basic
"""`fit(model, ...)`: Keras' own `fit`, in which a reload gives a new model object.

For v1 graph mode, where a model cannot outlive the clearing of its session, and where a new model
object is wanted. Each part of the training is a call of `model.fit` with one callback in place of
the others (`combined_callback`), so that it looks like one training: one History, callbacks that
begin and end once, epochs that go on counting; only `callback.model` changes.
"""

import inspect
import operator
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple, Protocol, cast

from kmonitor_agent.callback import MonitorCallback
from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.detection import framework_for
from kmonitor_agent.frameworks.global_state import GlobalStateSnapshot
from kmonitor_agent.frameworks.model_building import CannotRebuild, ModelFactory, keras_module
from kmonitor_agent.reclaim import rebuild as rebuilt
from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag
from kmonitor_agent.reclaim.checkpoints import CheckpointStore
from kmonitor_agent.reclaim.deferred_signals import SIGNALS
from kmonitor_agent.reclaim.outcome import ReclaimOutcome
from kmonitor_agent.recording.fit import FitInParts
from kmonitor_agent.wire.messages.events import Footprint


class Fitted(NamedTuple):
    """Result of `fit`.

    Attributes:
        model: The trained model. After a reload it is a new object.
        history: Keras' History of the whole training, also `model.history`.
    """

    model: KerasModel
    history: Any


def fit(
    model: KerasModel, *arguments: Any, rebuild: ModelFactory | None = None, **named: Any
) -> Fitted:
    """Train like `model.fit(...)`, but a reload creates a new model object.

        model, history = kmonitor_agent.fit(model, x, y, epochs=100, callbacks=[monitor])

    Reloads are requested as usual: by a limit, `MonitorCallback.request("reload")`, the window or
    the command line. The result is that of an uninterrupted `fit`, bit for bit. In v1 graph mode a
    reload clears the session like `clear_session()`: do not use any earlier model afterwards. With
    tf_keras in eager mode a reload keeps the model object, as in a plain `fit`.

    Args:
        model: Compiled, and built or to be built by the first batch.
        *arguments: As for `model.fit`.
        rebuild: Function that returns the model built and compiled, for models that cannot be
            created from their configuration. The values of its variables do not matter. In v1
            graph mode it is also called once at the start, as a check.
        **named: As for `model.fit`. If `callbacks` has no MonitorCallback, one is added.

    Returns:
        The trained `model` and the `history` of the whole training; can be unpacked as a pair.

    Raises:
        TypeError: An argument has the wrong type. The message says what to write.
        ValueError: An argument is not valid, or the model cannot be rebuilt.
        kmonitor_agent.reclaim.rebuild.ModelLost: In v1 graph mode, the model could not be rebuilt
            although it could at the start. The exact state is on disk. To catch it, write `from
            kmonitor_agent.reclaim.rebuild import ModelLost`.
    """
    return _Fitting(model, _bound(model, arguments, named), rebuild).run()


def _bound(model: KerasModel, arguments: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    method: Any = getattr(model, "fit", None)
    if not callable(method) or framework_for(model).reclaim_steps() is None:
        why = framework_for(model).info().unavailable.get("reload", "it has no fit method")
        raise TypeError(f"fit: {type(model).__name__} cannot be trained here: {why}")
    bound = inspect.signature(method).bind(*arguments, **named)
    call_arguments = dict(bound.arguments)
    return {**call_arguments.pop("kwargs", {}), **call_arguments}


class _Fitting:
    """One training; holds kmonitor's only strong reference to its model."""

    def __init__(
        self, model: KerasModel, arguments: dict[str, Any], script: ModelFactory | None
    ) -> None:
        if script is not None and (not callable(script) or hasattr(script, "fit")):
            raise TypeError(
                f"fit: rebuild={script!r} is not a function; use rebuild=make_model, without ()."
            )
        self._model = model
        self._arguments = arguments
        self._script = script
        self._framework = framework_for(model)
        self._rebuilder = rebuilt.rebuilder_for(self._framework, model)
        self._epochs = _count(arguments, "epochs", 1)
        self._initial_epoch = _count(arguments, "initial_epoch", 0)
        keras = keras_module(model)
        callbacks = _callbacks(arguments.get("callbacks"), keras)
        progress_bars = [
            each for each in callbacks if isinstance(each, keras.callbacks.ProgbarLogger)
        ]
        known = set(map(id, progress_bars))
        inside = [each for each in callbacks if id(each) not in known]
        if not any(isinstance(each, MonitorCallback) for each in inside):
            inside.append(MonitorCallback())
        self._history = keras.callbacks.History()
        self._callbacks = [*inside, self._history]
        self._progress_bars = progress_bars
        self._check()
        self._fit_in_parts = FitInParts(model)
        self._saved: rebuilt.SavedModelState | None = None
        self._store: CheckpointStore | None = None
        self._next_epoch = 0
        self._state_snapshot: GlobalStateSnapshot | None = None

    def run(self) -> Fitted:
        if self._rebuilder is None:
            self._model.fit(
                **{**self._arguments, "callbacks": [*self._callbacks, *self._progress_bars]}
            )
            return Fitted(self._model, self._history)
        hooks = combined_callback(keras_module(self._model), self, self._callbacks)
        arguments = {**self._arguments, "callbacks": [hooks, *self._progress_bars]}
        begin = self._initial_epoch
        try:
            with self._fit_in_parts:
                while True:
                    self._saved = None
                    self._model.fit(**{**arguments, "initial_epoch": begin})
                    if self._saved is None:
                        break
                    begin = self._next_model(self._saved)
        finally:
            self.part_started()  # also when Keras failed before its first epoch
            self._report_outcome(_nothing("training ended before the action could run"))
        self._model.history = self._history
        return Fitted(self._model, self._history)

    @property
    def goes_on(self) -> bool:
        """True if the running call of Keras' `fit` ends for a reload, and another follows."""
        return self._saved is not None

    def part_started(self) -> None:
        """Restore the random states; Keras has prepared another call of `fit`."""
        start, self._state_snapshot = self._state_snapshot, None
        if start is not None:
            start.restore()

    def epoch_ended(self, model: KerasModel, epoch: int) -> None:
        """Save if a reload was requested; all callbacks have seen the end of the epoch."""
        pending = self._fit_in_parts.pending_reloads
        if not pending:
            return
        store = CheckpointStore(pending[0].folder, keep=pending[0].keep)
        tag = CheckpointTag(run=pending[0].run, fit=pending[0].fit, epoch=epoch)
        saved = rebuilt.save_for_rebuild(self._framework, model, store, tag=tag)
        if saved.checkpoint is None or model.stop_training or epoch + 1 >= self._epochs:
            why = saved.outcome.why if saved.checkpoint is None else _ENDS
            self._report_outcome(replace(saved.outcome, ok=False, why=why))
            return
        self._saved = saved
        self._store = store
        self._next_epoch = epoch + 1
        model.stop_training = True

    def _next_model(self, saved: rebuilt.SavedModelState) -> int:
        store = self._store
        if store is None:
            raise AssertionError("a state was saved, but nowhere")
        with SIGNALS.delivered_after():
            SIGNALS.hold()
            new_model, outcome = rebuilt.rebuild(
                self._framework, self._model, saved, store, self._script
            )
            if note := _of_the_data(self._arguments):
                outcome = replace(outcome, why="; ".join(filter(None, (outcome.why, note))))
            self._model = self._fit_in_parts.model = new_model
            self._state_snapshot = GlobalStateSnapshot(self._arguments.get("x"))
            self._report_outcome(outcome)
        return self._next_epoch

    def _report_outcome(self, outcome: ReclaimOutcome) -> None:
        pending, self._fit_in_parts.pending_reloads = self._fit_in_parts.pending_reloads, []
        for reload in pending:
            reload.on_done(outcome)

    def _check(self) -> None:
        how = self._rebuilder
        if how is None:
            return
        if how.destroys and (why := _of_the_graph(self._arguments)):
            raise TypeError(f"fit: {why}")
        if why := how.why_forbidden():
            raise ValueError(f"fit: a reload would not be possible here: {why}")
        try:
            how.try_out(self._model, self._script)
        except CannotRebuild as exc:
            raise ValueError(f"fit: the model cannot be rebuilt: {exc.why}") from exc
        except Exception as exc:
            raise ValueError(
                f"fit: the model cannot be rebuilt ({exc}); use rebuild=make_model, a function"
                " that returns the built and compiled model"
            ) from exc


_ENDS: Final = "training ends with this epoch, so a reload would be pointless"

_READ_AHEAD: Final = (
    "not exact: Keras had read ahead in the generator, and those batches are lost; use a"
    " Sequence, a tf.data pipeline or arrays, which can be read again"
)

_DATA_RESTARTED: Final = (
    "not exact: with steps_per_epoch, each epoch continues through the data from where the "
    "previous one ended, but the new model's first epoch starts again at the beginning of "
    "the data; leave steps_per_epoch out"
)


def _nothing(why: str) -> ReclaimOutcome:
    return ReclaimOutcome(ok=False, action="reload", seconds=0.0, before=Footprint(), why=why)


def _count(arguments: dict[str, Any], name: str, otherwise: int) -> int:
    value = arguments.get(name, otherwise)
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"fit: {name}={value!r} is not a whole number; use a whole number, such as {name}=10."
        ) from None


def _callbacks(callbacks: object, keras: Any) -> list[Any]:
    if callbacks is None:
        return []
    if isinstance(callbacks, keras.callbacks.CallbackList):
        raise TypeError("fit: callbacks is a CallbackList; use a list of callbacks.")
    listed = _flat(callbacks)
    for callback in listed:
        # Ours is a callback of every Keras, whichever it was made for.
        if not isinstance(callback, keras.callbacks.Callback | MonitorCallback):
            raise TypeError(
                f"fit: {callback!r} in callbacks is not a {keras.__name__} callback; use "
                "callbacks=[MonitorCallback()]."
            )
    return listed


_MOST_ARRAYS: Final = 64
"""Maximum number of inputs that are checked, for data given as lists of numbers."""


def _of_the_graph(arguments: dict[str, Any]) -> str:
    """Reason why the data cannot outlive the clearing of the session; empty if they can."""
    for name in ("x", "y", "sample_weight", "validation_data"):
        kinds = {
            cls.__module__.partition(".")[0]
            for each in _flat(arguments.get(name))[:_MOST_ARRAYS]
            for cls in type(each).__mro__
        }
        if "tensorflow" in kinds:
            return (
                f"{name} belongs to TensorFlow's v1 graph, which a reload clears; use arrays, a"
                " Sequence or a generator"
            )
    return ""


def _flat(data: Any) -> list[Any]:
    if isinstance(data, dict):
        return _flat(list(cast("dict[Any, Any]", data).values()))
    if isinstance(data, list | tuple):
        return [part for each in cast("list[Any]", data) for part in _flat(each)]
    return [data]


def _of_the_data(arguments: dict[str, Any]) -> str:
    """Reason why another call of Keras' `fit` reads other batches; empty if it does not."""
    if hasattr(arguments.get("x"), "__next__"):
        return _READ_AHEAD
    return "" if arguments.get("steps_per_epoch") is None else _DATA_RESTARTED


_BATCH_HOOKS: Final = tuple(
    f"on_{mode}batch_{end}" for mode in ("train_", "test_", "predict_") for end in ("begin", "end")
)

_TEST_HOOKS: Final = ("on_test_begin", "on_test_end", "on_predict_begin", "on_predict_end")


class PartOwner(Protocol):
    """Training that decides which call of `fit` is the last one."""

    @property
    def goes_on(self) -> bool:
        """True if another call follows the one that ends now."""
        ...

    def part_started(self) -> None:
        """Called when a call that follows another is about to begin its first epoch."""
        ...

    def epoch_ended(self, model: KerasModel, epoch: int) -> None:
        """Called when all callbacks have seen this epoch's end."""
        ...


def combined_callback(keras: Any, owner: PartOwner, callbacks: Sequence[Any]) -> Any:
    """Return a callback of this Keras that calls all the others.

    Args:
        keras: keras or tf_keras.
        owner: Called at each epoch's end.
        callbacks: The others, in order. `on_part_begin` and `on_part_end` of those that have them
            are called at the begin and end of the inner parts.
    """
    base = keras.callbacks.Callback
    # Keras looks at what a callback overrides: on JAX and PyTorch the end of a batch costs a wait.
    used = {
        name: [each for each in callbacks if _overrides(each, name, base)] for name in _BATCH_HOOKS
    }
    body: dict[str, Any] = {
        name: _broadcast_hook(name, some) for name, some in used.items() if some
    }
    body |= {name: _broadcast_hook(name, callbacks) for name in _TEST_HOOKS}
    body |= {
        "__module__": __name__,
        "_owner": owner,
        "_inner": tuple(callbacks),
        "async_safe": all(getattr(each, "async_safe", False) for each in _distinct(used)),
        "_supports_tf_logs": all(
            getattr(each, "_supports_tf_logs", False)
            for each in callbacks
            if _uses_hooks(each, "_implements_train_batch_hooks")
        ),
    }
    return type("KmonitorParts", (_Hooks, base), body)()


class _Hooks:
    """Mixed with Keras' own Callback."""

    _owner: PartOwner
    _inner: tuple[Any, ...]
    _has_started = False
    model: Any

    def set_params(self, params: Any) -> None:
        for callback in self._inner:
            callback.set_params(params)

    def set_model(self, model: Any) -> None:
        self._model = model
        for callback in self._inner:
            callback.set_model(model)

    def on_train_begin(self, logs: Any = None) -> None:
        """Forward for the first part; for later parts call `on_part_begin` instead."""
        had_started, self._has_started = self._has_started, True
        for callback in self._inner:
            if not had_started:
                callback.on_train_begin(logs)
            elif hasattr(callback, "on_part_begin"):
                callback.on_part_begin()
        if had_started:
            self._owner.part_started()

    def on_train_end(self, logs: Any = None) -> None:
        """Forward for the last part; for earlier parts call `on_part_end` instead."""
        for callback in self._inner:
            if not self._owner.goes_on:
                callback.on_train_end(logs)
            elif hasattr(callback, "on_part_end"):
                callback.on_part_end()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        for callback in self._inner:
            callback.on_epoch_begin(epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        for callback in self._inner:
            callback.on_epoch_end(epoch, logs)
        self._owner.epoch_ended(self._model, epoch)

    def _implements_train_batch_hooks(self) -> bool:
        return any(_uses_hooks(each, "_implements_train_batch_hooks") for each in self._inner)

    def _implements_test_batch_hooks(self) -> bool:
        return any(_uses_hooks(each, "_implements_test_batch_hooks") for each in self._inner)

    def _implements_predict_batch_hooks(self) -> bool:
        return any(_uses_hooks(each, "_implements_predict_batch_hooks") for each in self._inner)


def _broadcast_hook(name: str, callbacks: Sequence[Any]) -> Any:
    def hook(self: Any, *arguments: Any, **named: Any) -> None:
        """Hand it on to every callback."""
        del self
        for callback in callbacks:
            # Looked up each time: an instance may replace its hook while it runs.
            getattr(callback, name)(*arguments, **named)

    hook.__name__ = name
    return hook


def _overrides(callback: Any, name: str, base: type) -> bool:
    if name in vars(callback):
        return True
    plain = name.replace("train_", "") if "train_" in name else name
    return any(
        getattr(type(callback), hook, None) is not getattr(base, hook, None)
        for hook in {name, plain}
    )


def _distinct(used: dict[str, list[Any]]) -> list[Any]:
    ends = (each for name, some in used.items() if name.endswith("_end") for each in some)
    return list({id(each): each for each in ends}.values())


def _uses_hooks(callback: Any, question: str) -> bool:
    method = getattr(callback, question, None)
    return bool(method()) if callable(method) else True
