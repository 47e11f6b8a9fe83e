"""MonitorCallback, which a script passes to `fit`: each Keras hook is one call of the recorder."""

import functools
import os
import threading
import weakref
from collections.abc import Callable
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Concatenate,
    Final,
    Never,
    ParamSpec,
    Self,
    cast,
    get_args,
)

from kmonitor_agent.dependencies import check_dependencies
from kmonitor_agent.frameworks.callback_base import (
    add_keras_callback,
    not_converted,
    overrides_step_end,
)
from kmonitor_agent.frameworks.script_values import safe_bool, safe_getattr
from kmonitor_agent.guard import is_from_signal_handler
from kmonitor_agent.link.hub_choice import parse_hub
from kmonitor_agent.reclaim.deferred_signals import SIGNALS, HandlerException
from kmonitor_agent.recording.action_requests import ACTIONS, ActionRequest
from kmonitor_agent.recording.fit_origin import find_origin, is_same_fit
from kmonitor_agent.recording.settings import (
    Settings,
    check_home,
    checked_count,
    checked_folder,
    checked_hub,
    checked_interval_s,
    checked_limits,
    checked_name,
    checked_switch,
    refuse_unknown_arguments,
)
from kmonitor_agent.wire.messages.commands import ReloadMode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kmonitor_agent.recording.action_results import ActionResults
    from kmonitor_agent.recording.fit import Fit
    from kmonitor_agent.recording.run_recorder import RunRecorder
    from kmonitor_agent.recording.runs import ProcessRuns
    from kmonitor_agent.wire.limits import Limit

_POINTS: Final = ("epoch", "batch")
_STEP_HOOK: Final = "on_train_batch_begin"
_LOGS_HOOK: Final = "on_train_batch_end"

_Given = ParamSpec("_Given")
_Hook = Callable[Concatenate["MonitorCallback", _Given], None]

_OF_THE_PROCESS: Final = frozenset(
    {"_run_recorder", "_fits", "_models", "_tick", _STEP_HOOK, _LOGS_HOOK, "async_safe"}
)


def _hook(where: str, *, is_short: bool = False) -> "Callable[[_Hook[_Given]], _Hook[_Given]]":
    """Guard a hook that Keras calls: our own exceptions are recorded under `where`.

    A `with` block around the whole hook would not do: creating the guard needs memory too. With
    `is_short` the script's signals are not watched, which would take longer than the hook.
    """

    def guarded(hook: "_Hook[_Given]") -> "_Hook[_Given]":
        @functools.wraps(hook)
        def run(self: "MonitorCallback", *given: _Given.args, **named: _Given.kwargs) -> None:
            is_open = False
            try:
                try:
                    is_open = SIGNALS.open(is_watched=not is_short)
                    hook(self, *given, **named)
                except Exception as exc:
                    if is_from_signal_handler(exc):
                        raise
                    self._run_recorder.faults.record(where, exc)  # pyright: ignore[reportPrivateUsage]
                finally:
                    if is_open:
                        SIGNALS.close(self._run_recorder.faults)  # pyright: ignore[reportPrivateUsage]
            except HandlerException as passing:
                raise (passing.error if is_open else passing) from None
            finally:
                if is_open:
                    SIGNALS.close_left(self._run_recorder.faults)  # pyright: ignore[reportPrivateUsage]

        return run

    return guarded


class _MadeAtStart:
    """Initializes a callback at the first read of an attribute, as if called without arguments.

    For a subclass that forgets `super().__init__()`, or has a `__setstate__` of its own: Keras'
    Callback needs neither. Attributes of the instance itself take precedence.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, callback: "MonitorCallback | None", owner: type) -> Any:
        if callback is None:
            return self
        if "_settings" in callback.__dict__:
            callback._join_run()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        else:
            MonitorCallback.__init__(callback)
        return callback.__dict__[self._name]


class _Base:
    """Base in place of `object`, so that Keras' Callback can be added to the bases later."""


class MonitorCallback(_Base):
    """Keras callback that records a training and acts on it.

        monitor = MonitorCallback("resnet50", limits=[Limit("ram", "80%", action="reload")])
        model.fit(x, y, callbacks=[monitor])

    An instance is also an instance of Keras' `Callback`: of `keras` if that is imported or
    installed, else of `tf_keras`. Use one instance in as many fits as you like, also nested ones
    and in threads; it holds no model. The constructor raises on invalid arguments. After that,
    nothing in it raises into `fit`, blocks it, or changes its result. Under `kmonitor run` there
    are two exceptions: `CannotResume`, and `SystemExit` for a restart.

    All callbacks with the same run name in a process belong to one run. The first one sets hub,
    sampling interval, privacy and `commands`; limits and checkpoint folder are those of the
    callback that is running.

    Attributes:
        params: Keras' parameters of the fit: "epochs", "steps", "verbose".
    """

    params: dict[str, Any] | None
    OWN_ATTRIBUTES: ClassVar = frozenset({*_OF_THE_PROCESS, "_settings", "_supports_tf_logs"})

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Return an instance of this class and of Keras' Callback; imports Keras if necessary.

        Raises:
            ImportError: Neither keras nor tf_keras is installed.
        """
        return object.__new__(add_keras_callback(cls))

    if not TYPE_CHECKING:
        _settings = _MadeAtStart()
        _run_recorder = _MadeAtStart()
        _fits = _MadeAtStart()
        _models = _MadeAtStart()
        _tick = _MadeAtStart()

    def __init__(  # noqa: PLR0913 - the user's arguments
        self,
        run_name: str | None = None,
        *,
        limits: "Iterable[Limit]" = (),
        checkpoint_dir: str | os.PathLike[str] | None = None,
        commands: bool = True,
        sample_interval_s: float = 1.0,
        hub: str | None = None,
        private: bool = False,
        keep_checkpoints: int = 2,
        logs: bool = False,
        **unknown: Never,
    ) -> None:
        """Check the arguments; nothing else happens before `fit`.

        Args:
            run_name: Name of the run. None: the name of the script or notebook.
            limits: Limits on metrics, for example `[Limit("ram", "80%", action="reload")]`.
            checkpoint_dir: Folder for checkpoints. None: `checkpoints/RUN` in the state folder.
            commands: True if the window and the command line can act on this training.
            sample_interval_s: Time between samples, 0.05 to 3600 seconds.
            hub: None: this user's hub. "off", a socket's path, or "tcp://HOST:PORT?key=KEY".
            private: True to hash names of the run, host, user, models and layers, and to leave out
                script path, command line, checkpoint folder and exception texts.
            keep_checkpoints: Number of checkpoints to keep, 1 to 1000. Older ones are removed.
            logs: True to add `kmonitor/...` to Keras' logs at the end of each epoch, for
                callbacks later in the list (TensorBoard, CSVLogger, W&B, MLflow).

        Raises:
            ValueError: An argument is not valid. The message says what to write instead.
            TypeError: An argument has the wrong type or an unknown name; see the message.
        """
        refuse_unknown_arguments(unknown, Settings.__dataclass_fields__)
        self._settings = Settings(
            run_name=checked_name(run_name),
            limits=checked_limits(limits),
            checkpoint_dir=checked_folder(checkpoint_dir),
            commands=checked_switch("commands", commands),
            sample_interval_s=checked_interval_s(sample_interval_s),
            hub=_usable_hub(hub),
            private=checked_switch("private", private),
            keep_checkpoints=checked_count("keep_checkpoints", keep_checkpoints),
            logs=checked_switch("logs", logs),
        )
        self._join_run()
        super().__init__()
        self.params = None
        # tf_keras: turning logs into numbers for us would make every step wait for the device.
        self._supports_tf_logs = True

    def __reduce__(self) -> tuple[Any, ...]:  # pyright: ignore[reportImplicitOverride]
        """Pickle or copy the arguments; a copy joins the run of the process that loads it."""
        kind = type(self)
        return _bare, (vars(kind).get("_plain", kind),), self.__getstate__()

    def __getstate__(self) -> Any:  # pyright: ignore[reportImplicitOverride]
        """Return the state to pickle: all attributes that do not belong to this process."""
        values, slots = _parts_of(object.__getstate__(self))
        kept = {name: each for name, each in values.items() if name not in _OF_THE_PROCESS}
        return (kept, slots) if slots else kept

    def __setstate__(self, state: Any) -> None:
        values, slots = _parts_of(state)
        self.__dict__.update(values)
        for name, value in slots.items():
            setattr(self, name, value)

    @property
    def run_id(self) -> str:
        """Id of the run, as `kmonitor show` takes it."""
        return self._run_recorder.run_id

    @property
    def records(self) -> "ActionResults":
        """Results of the actions so far, oldest first; each prints as text.

        Each has `action` (str), `ok` (bool) and `why` (str, empty if nothing failed).
        """
        return self._run_recorder.results

    @not_converted
    def request(
        self,
        action: str,
        at: str = "epoch",
        *,
        mode: str | None = None,
        export: bool = False,
        of: str = "fit",
    ) -> None:
        """Request an action. Returns at once; the action runs on the training's thread.

        Can be called from any thread, also before `fit`. The result appears in `records`.

        Args:
            action: "save", "collect", "reload", "restart" (under `kmonitor run`, at the end of an
                epoch), "auto" (collect, and reload if that was not enough), "diagnose", "pause",
                "resume" or "stop".
            at: "epoch": at the end of the current epoch. "batch": before the next batch; a stop
                then ends the fit with that batch.
            mode: For "reload" and "auto". "assign" restores into the existing variables,
                "recreate" creates new ones if that is safe. None: "assign".
            export: For "save": True to write a `.keras` file beside the checkpoint.
            of: For "stop" in nested fits. "fit" ends the innermost fit that this callback follows,
                "run" also those around it.

        Raises:
            ValueError: `action`, `at`, `mode` or `of` is unknown, or does not fit the action.
        """
        _check_request(action, at, mode, export=export)
        _check_of(action, of)
        self._run_recorder.request(
            ActionRequest(
                action=cast("Any", action),
                at=cast("Any", at),
                mode=cast("Any", mode),
                export=export,
                of=cast("Any", of),
                fit=self._followed() if action == "stop" else None,
            )
        )

    @property
    def model(self) -> Any:
        """Model that this thread fits, held weakly. None if it no longer exists."""
        fit = self._running()
        model_ref = self._models.get(threading.get_ident()) if fit is None else fit.model
        model = None if model_ref is None else model_ref()
        if model is not None and hasattr(model, "jax_state_sync"):
            model.jax_state_sync()  # as Keras' own property does
        return model

    @model.setter
    def model(self, model: Any) -> None:
        self.set_model(model)

    @_hook("callback.set_params", is_short=True)
    def set_params(self, params: dict[str, Any] | None) -> None:
        self.params = params

    @_hook("callback.set_model", is_short=True)
    def set_model(self, model: Any) -> None:
        thread = threading.get_ident()
        if model is None:
            self._models.pop(thread, None)
        else:
            self._models[thread] = weakref.ref(model)

    @_hook("callback.train_begin")
    def on_train_begin(self, logs: Any = None) -> None:
        del logs
        with self._run_recorder.faults.guarded("callback.train_begin"):
            self._begin_fit()
        if self._settings.logs:
            with self._run_recorder.faults.guarded("callback.logs"):
                self._run_recorder.log_writer.request_logs(self, self._running())
        self._choose_tick()

    def _begin_fit(self) -> None:
        model_ref = self._models.get(threading.get_ident())
        model = None if model_ref is None else model_ref()
        if model is None:
            return
        fit = self._run_recorder.begin_fit(self, model, self.params, self._settings)
        if fit is not None:
            self._fits.setdefault(threading.get_ident(), []).append(fit)
            _runs().watch_exits()
            _runs().fit_started(self._run_recorder)
        elif (known := self._running()) is not None and is_same_fit(
            known.origin, find_origin(self)
        ):
            known.listings += 1

    @_hook("callback.epoch_begin")
    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        del logs
        fit = self._running()
        if fit is not None:
            self._run_recorder.begin_epoch(fit, epoch)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        # The only hook of ours that runs at every step.
        self._tick(batch, logs)

    @_hook("callback.test_begin", is_short=True)
    def on_test_begin(self, logs: Any = None) -> None:
        del logs
        fit = self._running()
        if fit is not None:
            fit.begin_validation()

    @_hook("callback.test_end", is_short=True)
    def on_test_end(self, logs: Any = None) -> None:
        del logs
        fit = self._running()
        if fit is not None:
            fit.end_validation()
        else:
            self._call_ended()

    @_hook("callback.predict_end", is_short=True)
    def on_predict_end(self, logs: Any = None) -> None:
        del logs
        if self._running() is None:
            self._call_ended()

    def _call_ended(self) -> None:
        model_ref = self._models.get(threading.get_ident())
        model = None if model_ref is None else model_ref()
        if model is not None and self._run_recorder.call_ended(model, self._settings):
            _runs().watch_exits()
            _runs().fit_started(self._run_recorder)

    @_hook("callback.epoch_end")
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        del epoch
        # Pending actions run here: the end of an epoch is the safe point for them.
        with self._run_recorder.faults.guarded("callback.epoch_end"):
            fit = self._running()
            model = None if fit is None else fit.model()
            if fit is not None and model is not None:
                self._run_recorder.end_epoch(fit, model, logs, self.params)
        if self._settings.logs:
            self._run_recorder.log_writer.fill(logs)

    @_hook("callback.train_end")
    def on_train_end(self, logs: Any = None) -> None:
        del logs
        with self._run_recorder.faults.guarded("callback.train_end"):
            fit = self._running()
            if fit is not None and fit.listings > 1:
                fit.listings -= 1  # the last of its listings ends it
            elif fit is not None:
                stopped = safe_bool(safe_getattr(fit.model(), "stop_training"))
                self._run_recorder.end_fit(fit, stopped=stopped)
                _runs().fit_ended(self._run_recorder)
        self._choose_tick()

    @_hook("callback.part_end")
    def on_part_end(self) -> None:
        """Called by `kmonitor_agent.fit` when a part of a training ends and another follows."""
        fit = self._running()
        if fit is not None:
            self._run_recorder.end_part(fit)

    @_hook("callback.part_begin")
    def on_part_begin(self) -> None:
        """Called by `kmonitor_agent.fit` when a training continues with another model object."""
        with self._run_recorder.faults.guarded("callback.part_begin"):
            fit = self._running()
            model_ref = self._models.get(threading.get_ident())
            model = None if model_ref is None else model_ref()
            if fit is not None and model is not None:
                self._run_recorder.begin_part(self, fit, model)
        self._choose_tick()

    def _implements_train_batch_hooks(self) -> bool:
        return True  # tf_keras asks; also when Keras 3 is the base

    def _implements_test_batch_hooks(self) -> bool:
        return False

    def _implements_predict_batch_hooks(self) -> bool:
        return False

    def _join_run(self) -> None:
        self._run_recorder: RunRecorder = _runs().recorder(self._settings, self)
        self._fits: dict[int, list[Fit]] = {}
        self._models: dict[int, weakref.ref[Any]] = {}
        self._tick = _ignore

    def _running(self) -> "Fit | None":
        """The innermost open fit of this thread."""
        fits = self._fits.get(threading.get_ident())
        while fits and not fits[-1].is_open:
            fits.pop()
        return fits[-1] if fits else None

    def _followed(self) -> int | None:
        """Ordinal of the fit that a stop through this callback ends; None if it is ambiguous."""
        running_fit = self._running()
        if running_fit is not None:
            return running_fit.ordinal
        threads = [[each for each in fits if each.is_open] for fits in list(self._fits.values())]
        training = [fits for fits in threads if fits]
        return training[0][-1].ordinal if len(training) == 1 else None

    def _choose_tick(self) -> None:
        """Let the step hook call the clock directly while only one thread trains with us."""
        fit = self._running()
        others = [fits for thread, fits in self._fits.items() if thread != threading.get_ident()]
        is_repeated = fit is not None and fit.listings > 1
        if is_repeated or any(each.is_open for fits in others for each in fits):
            self._tick = self._tick_of_thread
        else:
            self._tick = _ignore if fit is None else fit.clock.tick
        if type(self).on_train_batch_begin is MonitorCallback.on_train_batch_begin:
            # In the instance it hides the method, and saves a call at every step.
            self.__dict__[_STEP_HOOK] = self._tick
        self._choose_logs_hook(fit if self._tick not in (_ignore, self._tick_of_thread) else None)

    def _choose_logs_hook(self, fit: "Fit | None") -> None:
        """Install the hook that keeps each step's logs, unprocessed, while one fit runs.

        Keras checks what a callback overrides before a fit begins, and then turns logs into
        numbers for it at every step, which waits for the device. So the hook is only there
        from the fit's begin to its end, and gets the logs in Keras' own form.
        """
        if fit is not None and not overrides_step_end(type(self)):
            # JAX and TensorFlow call it beside the training; it may be.
            self.__dict__ |= {_LOGS_HOOK: fit.step_end_hook(), "async_safe": True}
        elif self.__dict__.pop(_LOGS_HOOK, None) is not None:
            self.__dict__.pop("async_safe", None)

    @_hook("callback.step", is_short=True)
    def _tick_of_thread(self, batch: Any, logs: Any) -> None:
        fit = self._running()
        if fit is not None and fit.is_first_call():
            fit.clock.tick(batch, logs)


def _usable_hub(hub: object) -> str | None:
    check_home(os.environ)
    checked = checked_hub(hub)
    parse_hub(checked, os.environ)
    return checked


def _check_request(action: str, at: str, mode: str | None, *, export: bool) -> None:
    if action not in ACTIONS:
        listed = ", ".join(f'"{name}"' for name in ACTIONS)
        raise ValueError(f"request: {action!r} is not a valid action; use one of {listed}.")
    if at not in _POINTS:
        raise ValueError(f'request: at={at!r} is not valid; use "epoch" or "batch".')
    if mode not in (None, *get_args(ReloadMode)):
        raise ValueError(f'request: mode={mode!r} is not valid; use "assign" or "recreate".')
    if mode is not None and action not in ("reload", "auto"):
        raise ValueError(f'request: mode={mode!r} is for a reload; use request("reload", ...).')
    if export not in (True, False) or (export and action != "save"):
        raise ValueError('request: export is for a save; use request("save", export=True).')


def _check_of(action: str, of: str) -> None:
    if of not in ("fit", "run"):
        raise ValueError(f'request: of={of!r} is not valid; use "fit" or "run".')
    if of == "run" and action != "stop":
        raise ValueError('request: of="run" works only with stop; use request("stop", of="run").')


def _runs() -> "ProcessRuns":
    # Not before a callback is made: `from kmonitor_agent import Limit` stays light, and the
    # recorder brings ZeroMQ and psutil along.
    check_dependencies()
    from kmonitor_agent.recording.runs import RUNS  # noqa: PLC0415

    return RUNS


def _ignore(batch: Any, logs: Any) -> None:
    """Step hook outside of any recorded fit."""


def _parts_of(state: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Attributes and slots in what Python keeps of an object."""
    parts = cast("tuple[Any, Any]", state if type(state) is tuple else (state, None))
    return parts[0] or {}, parts[1] or {}


def _bare(plain: "type[MonitorCallback]") -> MonitorCallback:
    return plain.__new__(plain)
