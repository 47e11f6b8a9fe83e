"""Events of fits from Keras' hooks: fits, epochs, graph counts, model facts, first steps' peak."""

import weakref
from collections.abc import Callable
from typing import Any, Final, Literal

from kmonitor_agent.frameworks.base import (
    AllocatorReadings,
    FitFacts,
    GraphCount,
    KerasModel,
    ModelDescription,
)
from kmonitor_agent.frameworks.layout_reader import fit_layout
from kmonitor_agent.frameworks.model_parts import weights_of
from kmonitor_agent.frameworks.script_values import instance_dict, numeric_logs
from kmonitor_agent.guard import FaultLog, exception_message
from kmonitor_agent.probes.heap import HeapCounts
from kmonitor_agent.probes.held_memory import ProcessPages, read_held, read_own_pages
from kmonitor_agent.probes.pacing import Paced
from kmonitor_agent.recording.diagnosis import KeptObjectCounter
from kmonitor_agent.recording.fit import Fit, PeakWatch
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.recording.settings import sendable_text
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochStarted,
    Event,
    FieldSource,
    FieldSources,
    FitEnded,
    FitStarted,
    FunctionTraces,
    GraphSize,
    LayerFacts,
    LayoutPart,
    ModelFacts,
    StepPeak,
)
from kmonitor_agent.wire.messages.fields import MAX_TEXT
from kmonitor_agent.wire.messages.model_layout import MOST_PARTS, PART_BYTES, encode_layout
from kmonitor_agent.wire.messages.readings import Reading

LOG_PREFIX: Final = "kmonitor/"
"""Prefix of the names of our own logs."""


LONGEST_LOG_NAME: Final = 200
"""Maximum length of any name in an event."""


_HEAP_CORE_FRACTION: Final = 0.01
"""Maximum part of a core for counting Python's and malloc's blocks.

malloc walks the heaps of all threads, and threads that allocate wait: microseconds at first,
milliseconds with many threads.
"""


_LAYERS_A_PART: Final = 200
"""Maximum number of layers in one `ModelFacts` event."""


_MOST_LOGS: Final = 256


_CAUGHT: Final = (
    "ended by an exception that the script caught (an error or Ctrl+C), or by sys.exit"
)

_CUT_OFF: Final = "it was still running when the process ended"


class FitReporter:
    """Emits the events of fits; on the threads that train.

    Args:
        now_s: Seconds since the session started.
        privacy: Hides private names and texts.
        counts: Counts of memory from Python and malloc.

    Attributes:
        kept_objects: Counter of objects that the script keeps.
    """

    def __init__(
        self,
        *,
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        privacy: Privacy,
        counts: HeapCounts,
    ) -> None:
        self.kept_objects: Final = KeptObjectCounter(emit=emit, now_s=now_s, privacy=privacy)
        self._heap_counts = Paced(counts.read, _HEAP_CORE_FRACTION)
        self._reported: dict[str, tuple[str, str]] = {}
        self._emit = emit
        self._now_s = now_s
        self._privacy = privacy

    def fit_started(self, fit: Fit, model: KerasModel, facts: FitFacts, epochs: int) -> None:
        """Report that a fit began.

        Args:
            model: The fitted model, for its learning rate.
            facts: Facts about its compilation.
            epochs: Planned number of epochs; 0 if unknown.
        """
        self._emit(
            FitStarted(
                t_s=self._now_s(),
                fit=fit.ordinal,
                model=self._privacy.name(facts.model)[:LONGEST_LOG_NAME],
                epochs=epochs,
                initial_epoch=fit.origin.initial_epoch,
                steps=fit.planned_steps,
                batch_size=facts.batch_size or fit.origin.batch_size,
                steps_per_execution=facts.steps_per_execution,
                optimizer=self._privacy.optimizer(facts.optimizer),
                learning_rate=self._learning_rate(fit, model),
                jit_compile=facts.jit_compile,
                run_eagerly=facts.run_eagerly,
                checkpoint_dir=self._privacy.text(sendable_text(str(fit.checkpoint_dir)))[
                    :MAX_TEXT
                ],
                sequence_length=facts.sequence_length,
                cache_steps=facts.cache_steps,
                cache_bytes=facts.cache_bytes,
                data_kind=facts.data.kind,
                data_workers=facts.data.workers,
                data_persists=facts.data.persists,
                data_prefetches=facts.data.prefetches,
                data_maps_in_parallel=facts.data.maps_in_parallel,
                data_python=facts.data.python,
            )
        )

    def model_facts(self, fit: Fit, facts: FitFacts, description: ModelDescription) -> None:
        """Report the layers and sizes of the model, in parts."""
        layers = [self._layer(layer) for layer in description.layers]
        part_count = max(1, -(-len(layers) // _LAYERS_A_PART))
        for part in range(part_count):
            self._emit(
                ModelFacts(
                    t_s=self._now_s(),
                    fit=fit.ordinal,
                    part=part + 1,
                    part_count=part_count,
                    name=self._privacy.name(description.name)[:LONGEST_LOG_NAME],
                    kind=self._privacy.name(description.kind)[:LONGEST_LOG_NAME],
                    n_layers=len(layers),
                    layers=layers[part * _LAYERS_A_PART : (part + 1) * _LAYERS_A_PART],
                    parameters=description.parameters,
                    parameter_bytes=description.parameter_bytes,
                    optimizer=self._privacy.optimizer(facts.optimizer),
                    slots=list(description.slots[:64]),
                    slot_bytes=description.slot_bytes,
                    loss=self._privacy.name(facts.loss)[:MAX_TEXT],
                    dtype_policy=facts.dtype_policy,
                )
            )

    def graph_counted(self, fit: Fit, graph: GraphCount) -> None:
        """Report a count of the graph; does nothing if it is absent."""
        if graph.operations is None:
            return
        self._emit(
            GraphSize(
                t_s=self._now_s(),
                fit=fit.ordinal,
                epoch=fit.epoch,
                operations=graph.operations,
                traces=graph.traces,
                functions=graph.functions,
                retained=graph.retained,
                disused=graph.disused,
                by_function=[self._function(each) for each in graph.by_function[:64]],
            )
        )

    def epoch_started(self, fit: Fit) -> None:
        self._emit(
            EpochStarted(
                t_s=fit.epoch_began_s,
                fit=fit.ordinal,
                epoch=fit.epoch,
                ram_process_bytes=read_held().value,
            )
        )

    def epoch_ended(self, fit: Fit, model: KerasModel, logs: object) -> None:
        self.kept_objects.unit_ended("epoch", fit)
        now_s = self._now_s()
        steps = fit.steps_done
        is_due = self._heap_counts.is_due
        readings = self._heap_counts.newest() if is_due else {}
        counts = {name: reading.value for name, reading in readings.items()}
        parts = None if fit.timer is None else fit.timer.end_epoch(fit.last_steps, fit.computed_s)
        if fit.timer is not None:
            self._report_source("parts.input_s", fit.timer.input_source())
        self._report_source("step_time_s", fit.step_source)
        pages = read_own_pages()
        is_process = isinstance(pages, ProcessPages)
        self._emit(
            EpochEnded(
                t_s=now_s,
                fit=fit.ordinal,
                epoch=fit.epoch,
                seconds=max(0.0, now_s - fit.epoch_began_s),
                steps=min(steps, fit.planned_steps) if fit.planned_steps else steps,
                logs=self._logs(logs),
                learning_rate=self._learning_rate(fit, model),
                step_times=fit.last_steps,
                ram_process_bytes=float(pages.held_bytes) if is_process else pages.value,
                threads=pages.threads if is_process else None,
                allocator_in_use_bytes=fit.framework.allocator().in_use.value,
                validation_bytes=fit.validation_bytes,
                parts=parts,
                **counts,
            )
        )

    def fit_ended(
        self,
        fit: Fit,
        how: Literal["finished", "stopped", "failed", "interrupted", "left"],
        exc: BaseException | None,
    ) -> None:
        """Report that a fit ended.

        Args:
            exc: Exception that ended it, if known.
        """
        self.kept_objects.unit_ended("fit", fit)
        message = "" if exc is None else self._privacy.text(exception_message(exc))
        if exc is None:
            message = {"left": _CAUGHT + _position_text(fit), "interrupted": _CUT_OFF}.get(how, "")
        self._emit(
            FitEnded(
                t_s=self._now_s(),
                fit=fit.ordinal,
                how=how,
                epochs_done=fit.epochs_done,
                error_type="" if exc is None else type(exc).__name__[:LONGEST_LOG_NAME],
                message=message[:MAX_TEXT],
                epochs_before=fit.epochs_before,
            )
        )

    def _learning_rate(self, fit: Fit, model: KerasModel) -> float | None:
        """Learning rate; its source, or why there is none, is reported when that changes."""
        rate = fit.framework.learning_rate(model)
        if rate.absent != fit.why_no_rate:
            fit.why_no_rate = rate.absent
            self._reported.pop("learning_rate", None)
            self._report_source("learning_rate", rate)
        return rate.value

    def _report_source(self, field: str, reading: Reading) -> None:
        """Report the source of a field, or why it is absent, when that changes."""
        if self._reported.get(field) == (reading.source, reading.absent):
            return
        self._reported[field] = reading.source, reading.absent
        source = FieldSource(
            field=field,
            unit=reading.unit,
            source=self._privacy.source(reading.source),
            absent=self._privacy.source(reading.absent),
        )
        self._emit(FieldSources(t_s=self._now_s(), sources=[source]))

    def _logs(self, logs: object) -> dict[str, float]:
        return numeric_logs(logs, name_of=self._log_name, most=_MOST_LOGS)

    def _log_name(self, name: str) -> str:
        # Ours, which another callback of ours put there, have events of their own.
        if name.startswith(LOG_PREFIX):
            return ""
        return self._privacy.log_name(name)[:LONGEST_LOG_NAME]

    def _layer(self, layer: LayerFacts) -> LayerFacts:
        if not self._privacy.private:
            return layer
        return LayerFacts(
            name=self._privacy.name(layer.name),
            kind=self._privacy.name(layer.kind),
            output_shape=layer.output_shape,
            dtype=layer.dtype,
            parameters=layer.parameters,
            trainable_parameters=layer.trainable_parameters,
            parameter_bytes=layer.parameter_bytes,
        )

    def _function(self, function: FunctionTraces) -> FunctionTraces:
        if not self._privacy.private:
            return function
        return FunctionTraces(
            name=self._privacy.name(function.name),
            traces=function.traces,
            operations=function.operations,
            retained=function.retained,
            changed=function.changed if function.changed == "python" else "",
            disused=function.disused,
        )


def _position_text(fit: Fit) -> str:
    # A callback before ours may have raised at an epoch's end, so that our hook was not called.
    if not fit.is_in_epoch:
        return ""
    of = f" of {fit.planned_steps}" if fit.planned_steps else ""
    return f", in epoch {fit.epoch + 1} at step {fit.clock.steps}{of}"


_FIRST_STEPS: Final = 5
"""Number of first steps whose peak is reported: the first one traces, and the peak differs by up
to 18% between steps."""


class ModelReporter:
    """Emits facts, layout and the first steps' peak, once; on the threads that train.

    The allocator is only read, never reset: its peak is for the script to read.

    Args:
        reporter: Emits the model's facts.
        device: Returns the name of the GPU; empty if none is known.
        now_s: Seconds since the session started.
        privacy: With `private`, no layout leaves the process.
    """

    def __init__(
        self,
        *,
        reporter: FitReporter,
        faults: FaultLog,
        device: Callable[[], str],
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        privacy: Privacy,
    ) -> None:
        self._fit_reporter = reporter
        self._faults = faults
        self._device = device
        self._emit = emit
        self._now_s = now_s
        self._private = privacy.private
        self._body = b""
        self._seen: tuple[object, ...] = ()

    def begin_fit(self, fit: Fit, model: KerasModel | None) -> None:
        """Keep the allocator's peak before a fit, and report the model.

        Args:
            model: The model; None if it is not built yet: it is reported later.
        """
        facts = fit.undescribed_facts
        batch = (facts.batch_size if facts else None) or fit.origin.batch_size
        allocator = fit.framework.allocator()
        if batch and not (self._private or allocator.peak.absent):
            fit.peak = PeakWatch(batch, allocator.peak.value or 0.0)
        self.describe(fit, model)

    def describe(self, fit: Fit, model: KerasModel | None) -> None:
        """Report facts and layout, once."""
        facts = fit.undescribed_facts
        if facts is None or model is None:
            return
        fit.undescribed_facts = None
        with self._faults.guarded("run.describe"):
            self._fit_reporter.model_facts(fit, facts, fit.framework.describe(model))
        if not self._private:
            with self._faults.guarded("run.layout"):
                self._report_layout(fit, model)

    def waits(self, fit: Fit) -> bool:
        """True if the next step's begin is needed too; reports the peak after enough steps."""
        watch = fit.peak
        if watch is None:
            return False
        steps = watch.steps_before + fit.clock.steps
        if steps < _FIRST_STEPS:
            return True
        fit.peak = None
        with self._faults.guarded("run.step_peak"):
            self._report_peak(fit, watch, steps, fit.framework.allocator())
        return False

    def end_epoch(self, fit: Fit) -> None:
        """Count the steps of an ended epoch; short epochs count together."""
        if fit.peak is not None and self.waits(fit):
            fit.peak.steps_before += fit.clock.steps

    def _report_layout(self, fit: Fit, model: KerasModel) -> None:
        optimizer = instance_dict(model).get("optimizer")  # one that was never compiled has none
        n_trained = sum(is_trained for _, is_trained in weights_of(model))
        seen = (_key(model), _key(optimizer), n_trained)
        if seen == self._seen:
            return
        self._seen = seen
        layout = fit_layout(model)
        body = b"" if layout is None else encode_layout(layout)
        if body == self._body:
            return
        self._body = body
        chunks = [body[n : n + PART_BYTES] for n in range(0, len(body), PART_BYTES)]
        for number, chunk in enumerate(chunks if len(chunks) <= MOST_PARTS else ()):
            self._emit(LayoutPart(self._now_s(), fit.ordinal, number + 1, len(chunks), chunk))

    def _report_peak(
        self, fit: Fit, watch: PeakWatch, steps: int, allocator: AllocatorReadings
    ) -> None:
        peak = allocator.peak.value
        between = allocator.in_use.value
        if peak is None or between is None or peak <= watch.before_bytes:
            return
        kind = allocator.device.partition(":")[0]
        device = (self._device() or kind) if kind == "GPU" else kind
        self._emit(
            StepPeak(self._now_s(), fit.ordinal, watch.batch, steps, peak, between, device[:200])
        )


def _key(thing: Any) -> "weakref.ref[Any] | int":
    """Key that is equal only for the same living object."""
    try:
        return weakref.ref(thing)
    except TypeError:
        return id(thing)
