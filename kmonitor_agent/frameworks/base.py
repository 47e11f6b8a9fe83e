"""Protocols of a framework, with their values; each backend implements them in its own folder.

A new backend implements `Framework`, and `ReclaimSteps` to be saved and reloaded. It also needs
a case in `detection` and its names wherever backends differ: `_MODULES` here,
`keras3.state`, `keras3.resuming`, `global_state`, `object_sizes`, `script_values` and
`recording.diagnosis`.

`Framework` reads a Keras on a backend, `ReclaimSteps` saves and reloads its models. Steps may
implement optional protocols too; the agent checks for those with `isinstance`. Which framework a
model has, `detection` decides; fits resumed by another process and models rebuilt have protocols
of their own (`resuming`, `model_rebuilder`). The texts at the end are for versions that lack a
name which kmonitor reads.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, Self, runtime_checkable

from kmonitor_agent.wire.messages.events import FunctionTraces, LayerFacts, SlotFacts
from kmonitor_agent.wire.messages.readings import Reading

KerasModel = Any
"""A Keras model; typed loosely since no framework is imported at module level."""

EmptyArrayFactory = Callable[[tuple[int, ...], Any], Any]
"""Makes a numpy array of this shape and dtype to be filled."""


@dataclass(frozen=True, slots=True)
class FitFacts:
    """How a model is about to be fitted.

    Attributes:
        model: Model name.
        batch_size: None when the data decide it.
        sequence_length: Length of the data along axes that the model leaves open; None where it
            leaves none open, or lengths differ or are not known.
        steps_per_execution: Steps of one call of the step function.
        optimizer: Class name, or empty.
        learning_rate: Now; None if it cannot be read.
        jit_compile: None if unknown.
        run_eagerly: True if steps run without a graph.
        dtype_policy: Name of the model's policy.
        loss: As text.
        is_built: True if layers and optimizer slots exist already; else the first step makes them.
        cache_steps: Steps after which a cache of the data in memory is full; None without one, or
            where it is not known.
        cache_bytes: What it holds then; None where shapes vary.
    """

    model: str
    batch_size: int | None = None
    steps_per_execution: int = 1
    optimizer: str = ""
    learning_rate: float | None = None
    jit_compile: bool | None = None
    run_eagerly: bool = False
    dtype_policy: str = ""
    loss: str = ""
    is_built: bool = True
    sequence_length: int | None = None
    cache_steps: int | None = None
    cache_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """Layers, weights and optimizer slots of a model; shared weights counted once.

    Attributes:
        name: Model name.
        kind: Class name.
        layers: All layers, nested models flattened.
        parameters: Number of weights.
        parameter_bytes: Their size, bytes.
        slots: Optimizer variables by kind.
        slot_bytes: Their size, bytes.
    """

    name: str
    kind: str
    layers: tuple[LayerFacts, ...] = ()
    parameters: int = 0
    parameter_bytes: int = 0
    slots: tuple[SlotFacts, ...] = ()
    slot_bytes: int = 0


@dataclass(frozen=True, slots=True)
class GraphCount:
    """Graph size of the whole process at one moment.

    Attributes:
        operations: In all live traces and registered functions; None when absent.
        traces: Live traces.
        functions: Functions registered with the runtime.
        retained: Registry entries that keep traces of dead models; None if unknown.
        step_entries: Registry entries of Keras step functions, dead or live; None likewise.
        by_function: Largest first, at most 64.
        source: Where the numbers come from; empty when absent.
        absent: Why there are none; empty when there are.
    """

    operations: int | None
    traces: int = 0
    functions: int = 0
    retained: int | None = None
    step_entries: int | None = None
    by_function: tuple[FunctionTraces, ...] = ()
    source: str = ""
    absent: str = ""


@dataclass(frozen=True, slots=True)
class AllocatorReadings:
    """The framework's own allocator on one device.

    Attributes:
        device: "GPU:0" or "CPU:0"; empty if there is none.
        in_use: Bytes in use now.
        peak: Highest so far, bytes.
        limit: Most that it may take, bytes.
    """

    device: str
    in_use: Reading
    peak: Reading
    limit: Reading

    @classmethod
    def missing(cls, device: str, why: str) -> Self:
        """Nothing can be read, and why."""
        absent = Reading.missing("bytes", why)
        return cls(device=device, in_use=absent, peak=absent, limit=absent)


@dataclass(frozen=True, slots=True)
class FrameworkInfo:
    """A framework as it was when it was first used.

    Attributes:
        backend: "tensorflow", "jax", "torch".
        versions: Package name to version.
        unavailable: Capability ("reload", "collect", "graph", "allocator") to why it is missing.
    """

    backend: str
    versions: dict[str, str] = field(default_factory=dict[str, str])
    unavailable: dict[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class StateVariable:
    """One variable of a model's exact state.

    Attributes:
        path: Where it belongs, for people; not unique.
        n_bytes: Its size, bytes.
        variable: The framework's own object.
    """

    path: str
    n_bytes: int
    variable: Any


@dataclass(frozen=True, slots=True)
class ReleasedTraces:
    """Result of a release of retained traces.

    Attributes:
        traces: Traces released.
        models: Dead models that they belonged to, distinguished by the variables they capture.
        disused: Those of the traces whose model was compiled again, or dropped the function: its
            weights live on.
        held: Traces that stay and their holders, in words.
        why: Why nothing could be examined; empty when it could.
    """

    traces: int = 0
    models: int = 0
    disused: int = 0
    held: tuple[str, ...] = ()
    why: str = ""


class StateUnreadable(Exception):
    """A model whose state cannot be saved or restored.

    Attributes:
        why: The reason, for the user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class ReclaimSteps(Protocol):
    """The parts of save, collect and reload that know a framework; on the training thread only.

    These may raise what the framework raises: `kmonitor_agent.reclaim.actions` handles it.
    """

    def state(self, model: KerasModel) -> list[StateVariable]:
        """Every variable that a training's result depends on, each once by identity.

        Raises:
            StateUnreadable: The model is not built or not compiled.
        """
        ...

    def read(self, variable: Any) -> Any:
        """A variable's value as a numpy array."""
        ...

    def assign(self, variable: Any, value: Any) -> None:
        """Give a variable the value of a numpy array, in place."""
        ...

    def drop_functions(self, model: KerasModel) -> Sequence[str]:
        """Forget the model's step functions; names of those that had been made."""
        ...

    def make_functions(self, model: KerasModel, names: Sequence[str]) -> None:
        """Make those step functions again; they are traced when they are called."""
        ...

    def release_retained(self) -> ReleasedTraces:
        """Release traces of dead models; users' own and live models' stay."""
        ...

    def clear_session(self) -> str:
        """Clear the framework's session, its settings kept; why it was left out, else empty."""
        ...

    def inexact(self, model: KerasModel) -> str:
        """Why a retrace changes the training's result, in words; empty when it does not."""
        ...


@runtime_checkable
class RecreatesVariables(Protocol):
    """Optional for reclaim steps: to make a model's variables again, not only assign them."""

    def why_not_recreate(self, model: KerasModel, state: Sequence[StateVariable]) -> str:
        """Why variables cannot be made again safely here, in words; empty when they can.

        Called when the model's functions have been dropped and garbage was collected.
        """
        ...

    def recreate(
        self,
        model: KerasModel,
        state: Sequence[StateVariable],
        values: Callable[[EmptyArrayFactory | None], Iterator[Any]],
    ) -> bool:
        """Let all variables go, then make each again with its value, in the same Keras objects.

        `values` opens the saved values, one for each variable in order, as numpy arrays; large
        ones in memory that it is given the maker of, or numpy's.
        Whatever it raises, and an interrupt too, comes when every variable has its value again.

        Returns:
            True if each variable was seen to have the value that was read, every bit.
        """
        ...


@runtime_checkable
class HoldsValues(Protocol):
    """Optional for reclaim steps: to hold a variable's value where it is, without a copy."""

    def hold(self, variable: Any) -> Any | None:
        """The value as a numpy array in the variable's own memory, or None if it would be copied.

        Any operation of the framework that writes to the variable while this is held gives it
        other memory. Memory that a script lent to it (DLPack) can change in place; then the
        variable has what the script wrote, as without a reload.
        """
        ...

    def is_held(self, variable: Any, value: Any) -> bool:
        """True if the variable still has the memory of a held value, so that it is unchanged."""
        ...


@runtime_checkable
class VetoesActions(Protocol):
    """Optional for reclaim steps: that other processes train the same model."""

    def why_vetoed(self, model: KerasModel, action: str) -> str:
        """Why this process must not "save", "export" or "reload" by itself; else empty."""
        ...


@runtime_checkable
class HasModelParts(Protocol):
    """Optional for reclaim steps: the parts of a model, and what trains it beside its own."""

    def models_in(self, model: KerasModel) -> list[KerasModel]:
        """The model and those in it whose step functions can be dropped with its own."""
        ...

    def not_saved(self, model: KerasModel) -> tuple[str, ...]:
        """Optimizers that train this model and are no part of its state, in words."""
        ...


@runtime_checkable
class ChecksRetracing(Protocol):
    """Optional for reclaim steps: to check that a step traced again is the same step."""

    def trace_again(self, model: KerasModel) -> str:
        """Make and trace step functions beside those that there are; the model keeps the old ones.

        Returns:
            Why dropping the old ones would change the result; empty if it would not, and then
            `drop_functions` puts the new ones in their place.
        """
        ...

    def forget_traced(self) -> None:
        """Release all that `trace_again` made and that was not used."""
        ...


@dataclass(frozen=True, slots=True)
class TraceHolder:
    """A function of the script that keeps more traces than it should need.

    Attributes:
        name: Its Python name.
        traces: How many it holds; of one made again and again, all of that name together.
        why: The differences of its traces: "300 shapes"; "made 40 times"; empty if unknown.
        container: The script's variable or attribute that keeps those that were made; may be
            empty.
    """

    name: str
    traces: int
    why: str = ""
    container: str = ""


@runtime_checkable
class HasTraceHolders(Protocol):
    """Optional for a framework: the functions of the script that hold many traces."""

    def trace_holders(self) -> tuple[TraceHolder, ...]:
        """Most traces first, at most eight; costs tens of milliseconds where there are any."""
        ...


class Framework(Protocol):
    """One Keras on one backend. Methods run on the training thread unless they say otherwise.

    None of them raises for a missing private name: the result then says why it is absent.
    """

    def info(self) -> FrameworkInfo:
        """Versions, and what is unavailable; computed once."""
        ...

    def fit_facts(self, model: KerasModel) -> FitFacts:
        """How this model is compiled."""
        ...

    def learning_rate(self, model: KerasModel) -> Reading:
        """The optimizer's learning rate now, schedules evaluated, or why it cannot be read."""
        ...

    def describe(self, model: KerasModel) -> ModelDescription:
        """Layers, weights and optimizer slots."""
        ...

    def graph(self, model: KerasModel | None) -> GraphCount:
        """Graph size; cheap when nothing was traced since the last call."""
        ...

    def function_count(self) -> Reading:
        """Functions registered with the runtime; any thread, microseconds."""
        ...

    def allocator(self) -> AllocatorReadings:
        """Allocator of the first GPU, else of the CPU device; any thread, microseconds."""
        ...

    def reclaim_steps(self) -> ReclaimSteps | None:
        """Steps of save, collect and reload; None where `info().unavailable` says why."""
        ...


def computes_behind(framework: Framework) -> bool:
    """Whether steps are handed to a device, which may compute them after later ones have begun.

    JAX does so on the CPU too; TensorFlow and PyTorch compute there before the step returns. A
    device that was not started yet is not known, and may.
    """
    device = framework.allocator().device
    return framework.info().backend == "jax" or not device.startswith("CPU")


_MODULES: Final = {
    "JAX": "jax",
    "Keras": "keras",
    "PyTorch": "torch",
    "TensorFlow": "tensorflow",
    "tf_keras": "tf_keras",
}


def unavailable_text(framework: str, why: str) -> str:
    """Not available with this version, and why.

    Args:
        framework: "JAX", "Keras", "PyTorch", "TensorFlow" or "tf_keras".
        why: A clause, with "it" for the framework.
    """
    version = getattr(sys.modules.get(_MODULES[framework]), "__version__", "")
    return f"not available with {f'{framework} {version}'.strip()} because {why}"


def missing_name_text(framework: str, name: object) -> str:
    """Not available since a name is missing.

    Args:
        framework: As for `unavailable_text`.
        name: The name, or the error that says which.
    """
    return unavailable_text(framework, f"it lacks an attribute that kmonitor needs ({name})")
