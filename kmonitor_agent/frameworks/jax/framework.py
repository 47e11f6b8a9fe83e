# pyright: basic
"""Keras 3 on JAX: facts about models, and save, collect and reload inside of `fit`.

While `fit` runs steps, the values of a model's variables are only in `fit`'s own frame and in the
model's `_jax_state`; the variables are empty. Keras' `jax_state_sync` puts them back, and `fit`
takes them from there at the next step. That waits for the device, so it is done only where the
state is wanted, never at every step.
"""

import sys
from collections.abc import Sequence
from typing import Any, Final

from kmonitor_agent.frameworks.base import (
    AllocatorReadings,
    FitFacts,
    FrameworkInfo,
    GraphCount,
    KerasModel,
    ModelDescription,
    ReclaimSteps,
    ReleasedTraces,
    StateUnreadable,
    StateVariable,
    TraceHolder,
    missing_name_text,
)
from kmonitor_agent.frameworks.jax.memory import JaxAllocator
from kmonitor_agent.frameworks.jax.programs import JaxInternals, JaxPrograms
from kmonitor_agent.frameworks.keras3.state import exact_state, unsaved_optimizers
from kmonitor_agent.frameworks.keras3.step_functions import (
    check_functions,
    drop_functions,
    make_functions,
    models_in,
)
from kmonitor_agent.frameworks.model_facts import (
    read_description,
    read_fit_facts,
    read_learning_rate,
)
from kmonitor_agent.frameworks.model_parts import variable_path, variable_value
from kmonitor_agent.frameworks.script_values import instance_dict
from kmonitor_agent.wire.messages.readings import Reading

_MOST_HOLDERS: Final = 8
_COMPARED: Final = 4 * 1024 * 1024
"""Bytes compared at a time: all at once would take as much memory as the variable."""


class JaxFramework:
    """Reads and reclaims a Keras on JAX.

    Made on the training thread, which owns it; `function_count` and `allocator` may be called
    from any thread.
    """

    def __init__(self, *, versions: dict[str, str]) -> None:
        internals = JaxInternals()
        self._programs = JaxPrograms(internals)
        self._allocator = JaxAllocator(internals)
        self._steps = Keras3JaxReclaim(internals, self._programs)
        self._framework_info = FrameworkInfo(
            backend="jax", versions=versions, unavailable=self._unavailable(internals)
        )

    def info(self) -> FrameworkInfo:
        """Facts from the time when JAX was first used."""
        return self._framework_info

    def fit_facts(self, model: KerasModel) -> FitFacts:
        return read_fit_facts(model)

    def learning_rate(self, model: KerasModel) -> Reading:
        """The optimizer's learning rate; absent amid an epoch, when the variables are empty."""
        if instance_dict(model).get("_jax_state_synced", True):
            return read_learning_rate(model)
        return Reading.missing("1", "on JAX, the optimizer's variables are empty during an epoch")

    def describe(self, model: KerasModel) -> ModelDescription:
        return read_description(model)

    def graph(self, model: KerasModel | None) -> GraphCount:
        """Compiled programs of the process; see `programs`."""
        return self._programs.count(model)

    def function_count(self) -> Reading:
        """Compiled programs; any thread."""
        return self._programs.number()

    def functions_made(self) -> Reading:
        return self.function_count()

    def allocator(self) -> AllocatorReadings:
        """Allocator of the default device; any thread."""
        return self._allocator.read()

    def trace_holders(self) -> tuple[TraceHolder, ...]:
        programs = sorted(self._programs.many(), key=lambda each: each.traces, reverse=True)
        return tuple(
            TraceHolder(each.name, each.traces, f"{each.traces} shapes")
            for each in programs[:_MOST_HOLDERS]
        )

    def reclaim_steps(self) -> ReclaimSteps | None:
        return self._steps

    def _unavailable(self, internals: JaxInternals) -> dict[str, str]:
        unavailable: dict[str, str] = {}
        if not hasattr(sys.modules["keras"].Model, "jax_state_sync"):
            why = missing_name_text("Keras", "Model.jax_state_sync")
            unavailable |= dict.fromkeys(("save", "reload"), why)
        if internals.has_started():
            if why := self._programs.count(None).absent:
                unavailable["graph"] = why
            if why := self._allocator.read().in_use.absent:
                unavailable["allocator"] = why
        return unavailable


class Keras3JaxReclaim:
    """Implements `ReclaimSteps`; owned by the training thread."""

    def __init__(self, internals: JaxInternals, programs: JaxPrograms) -> None:
        self._internals = internals
        self._programs = programs
        self._is_reloading = False

    def state(self, model: KerasModel) -> list[StateVariable]:
        """Every variable, with the values that `fit` holds put back into them."""
        check_functions(model)
        if self._internals.processes() > 1:
            raise StateUnreadable(
                "not available when several JAX processes train together: each would act alone"
            )
        model.jax_state_sync()
        return exact_state(model)

    def read(self, variable: Any) -> Any:
        """Value as a numpy array of the variable's own dtype."""
        if instance_dict(variable).get("_value", variable) is None:
            # Its `value` would be what it began with.
            path = variable_path(variable)
            raise StateUnreadable(f"the value of {path} is held by a running step")
        return self._internals.to_host(variable_value(variable))

    def assign(self, variable: Any, value: Any) -> None:
        """Give the variable this value, unless it has it already: an array of JAX never changes.

        An array that stays also keeps its placement, on one device or over several.
        """
        if not _is_same(self.read(variable), value):
            variable.assign(value)

    def drop_functions(self, model: KerasModel) -> Sequence[str]:
        """Forget train, test and predict functions, except one that the script put there."""
        self._is_reloading = True
        return drop_functions(model)

    def make_functions(self, model: KerasModel, names: Sequence[str]) -> None:
        """Create these functions again; the next step compiles."""
        self._is_reloading = False
        make_functions(model, names)

    def release_retained(self) -> ReleasedTraces:
        """Release nothing: JAX' programs go with the functions that they were compiled for.

        Functions with many programs are reported, except in a reload, which lets go of them.
        """
        if self._is_reloading:
            return ReleasedTraces()
        return ReleasedTraces(
            held=tuple(
                f"{each.traces} compiled programs of `{each.name}`, one for each shape that it"
                " was called with (a reload releases them)"
                for each in self._programs.many()
            )
        )

    def clear_session(self) -> str:
        """Release all compiled programs. Keras' settings stay, they hold no memory here."""
        why = self._internals.why_not_clear()
        if not why:
            self._internals.clear()
        return why

    def models_in(self, model: KerasModel) -> list[KerasModel]:
        return models_in(model)

    def not_saved(self, model: KerasModel) -> tuple[str, ...]:
        return unsaved_optimizers(model)

    def inexact(self, model: KerasModel) -> str:
        """Empty: random numbers come from seeds that are part of the state."""
        del model
        return ""


def _is_same(first: Any, second: Any) -> bool:
    # By bits: NaNs are equal to themselves, and 0.0 is not -0.0.
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    left = _bits(first)
    right = _bits(second)
    return all(
        bool((left[start : start + _COMPARED] == right[start : start + _COMPARED]).all())
        for start in range(0, left.size, _COMPARED)
    )


def _bits(array: Any) -> Any:
    numpy = sys.modules["numpy"]
    return numpy.ascontiguousarray(array).reshape(-1).view(numpy.uint8)
