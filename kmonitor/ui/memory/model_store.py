"""Models of runs, as descriptions from which their memory can be estimated."""

from collections.abc import Collection, Iterator
from typing import Final

from kmonitor.memory.calibration import FitMemory, PeakMeasurement, fit_memories, measurements_of
from kmonitor.memory.estimate import Plan
from kmonitor_agent.wire.messages.events import (
    AnyEvent,
    FitStarted,
    LayoutPart,
    ModelFacts,
    StepPeak,
)
from kmonitor_agent.wire.messages.model_layout import (
    LayerLayout,
    ModelLayout,
    OptimizerLayout,
    VariableLayout,
)

NO_CALLS: Final = "the run reported its layers and weights, but not how the layers are connected"


class ModelStore:
    """The models of runs' fits, and measurements of their first steps; main thread only."""

    def __init__(self) -> None:
        self._facts_by_run: dict[str, dict[int, ModelFacts]] = {}
        self._events: dict[str, dict[tuple[str, int, int], AnyEvent]] = {}
        self._fits: dict[str, tuple[FitMemory, ...]] = {}

    def apply_event(self, run: str, event: AnyEvent) -> None:
        """Keep the part of a model that an event carries; other events are ignored."""
        match event:
            case ModelFacts():
                self._store_facts(run, event)
            case FitStarted() | StepPeak():
                self._store(run, event, 0)
            case LayoutPart():
                self._store(run, event, event.part)
            case _:
                return

    def forget(self, runs: Collection[str]) -> None:
        for run in runs:
            for by_run in (self._facts_by_run, self._events, self._fits):
                by_run.pop(run, None)

    def layout(self, run: str) -> ModelLayout | None:
        """Return the model of a run's newest fit; None until all of its parts have arrived."""
        fits = self.fits(run)
        if fits:
            return fits[-1].layout
        known = self._facts_by_run.get(run, {})
        parts = [known[number] for number in sorted(known)]
        if not parts or len(parts) < parts[0].part_count:
            return None
        return layout_from_facts(parts)

    def fits(self, run: str) -> tuple[FitMemory, ...]:
        """Return the fits of a run whose model was reported with its connections, in order."""
        if run not in self._fits:
            self._fits[run] = fit_memories(self._events.get(run, {}).values())
        return self._fits[run]

    def measured(self, layout: ModelLayout, plan: Plan) -> tuple[PeakMeasurement, ...]:
        """Return measurements of the same training in any known run."""
        fits = (each for run in self._events for each in self.fits(run))
        return measurements_of(fits).of(layout, plan)

    def _store(self, run: str, event: FitStarted | StepPeak | LayoutPart, part: int) -> None:
        key = (type(event).__name__, event.fit, part)
        self._events.setdefault(run, {})[key] = event
        self._fits.pop(run, None)

    def _store_facts(self, run: str, facts: ModelFacts) -> None:
        """Store a part of a model; parts of older fits are ignored."""
        known = self._facts_by_run.setdefault(run, {})
        newest = max((part.fit for part in known.values()), default=facts.fit)
        if facts.fit > newest:
            known.clear()
        if facts.fit >= newest:
            known[facts.part] = facts


def layout_from_facts(parts: list[ModelFacts]) -> ModelLayout:
    """Build a description with each layer's weights and the optimizer's slots, but no calls.

    Args:
        parts: All parts of one fit's model, in order.
    """
    first = parts[0]
    variables: list[VariableLayout] = []
    layers: list[LayerLayout] = []
    for layer in (layer for part in parts for layer in part.layers):
        own = list(_variables(layer.name, layer.parameters, layer.trainable_parameters,
                              layer.parameter_bytes))  # fmt: skip
        variable_indices = tuple(range(len(variables), len(variables) + len(own)))
        variables += own
        is_trained = layer.trainable_parameters > 0 or not layer.parameters
        layers.append(
            LayerLayout(layer.name, layer.kind, variable_indices, is_trainable=is_trained)
        )
    return ModelLayout(
        name=first.name,
        kind=first.kind,
        variables=tuple(variables),
        layers=tuple(layers),
        optimizer=_optimizer(first),
        precision=first.dtype_policy or "float32",
        loss=first.loss,
        why_no_calls=NO_CALLS,
    )


def _variables(path: str, parameters: int, trained: int, n_bytes: int) -> Iterator[VariableLayout]:
    """A layer's weights as one trained and one untrained variable."""
    if not parameters:
        return
    dtype = {2: "float16", 8: "float64"}.get(round(n_bytes / parameters), "float32")
    for n, is_trained in ((trained, True), (parameters - trained, False)):
        if n > 0:
            yield VariableLayout(path, (n,), dtype, is_trained)


def _optimizer(facts: ModelFacts) -> OptimizerLayout | None:
    if not facts.optimizer:
        return None
    slots = tuple(VariableLayout(each.name, (each.n_bytes,), "uint8") for each in facts.slots)
    if not slots:
        return OptimizerLayout(facts.optimizer)
    return OptimizerLayout(facts.optimizer, slots=slots)
