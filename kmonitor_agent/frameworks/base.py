"""What the agent needs from a framework; each backend implements it in a module of its own."""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, runtime_checkable

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
        sequence_length: Of the data, along axes that the model leaves open; None where it leaves
            none open, or lengths differ or are not known.
        steps_per_execution: Steps of one call of the step function.
        optimizer: Class name, or empty.
        learning_rate: Now; None if it cannot be read.
        jit_compile: None if unknown.
        run_eagerly: Whether steps run without a graph.
        dtype_policy: Name of the model's policy.
        loss: As text.
        is_built: Whether layers and optimizer slots exist already; else the first step makes them.
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


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """What a model is made of; shared weights counted once.

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
        retained: Registry entries that keep traces of dead models; None if it cannot be told.
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
        limit: What it may take, bytes.
    """

    device: str
    in_use: Reading
    peak: Reading
    limit: Reading


@dataclass(frozen=True, slots=True)
class FrameworkInfo:
    """What was found of a framework when it was first met.

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
    """What a release of retained traces did.

    Attributes:
        traces: Traces released.
        models: Dead models that they belonged to, told apart by the variables that they capture.
        disused: Those of the traces whose model was compiled anew, or dropped the function: its
            weights live on.
        held: What stays and who holds it, in words.
        why: Why nothing could be looked at; empty when it could.
    """

    traces: int = 0
    models: int = 0
    disused: int = 0
    held: tuple[str, ...] = ()
    why: str = ""


class StateUnreadable(Exception):
    """A model whose state cannot be saved or restored.

    Attributes:
        why: What is wrong, for the user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class ReclaimSteps(Protocol):
    """The parts of save, collect and reload that know a framework; on the training thread only.

    These may raise what the framework raises: `kmonitor_agent.reclaim.actions` answers for that.
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
        """Make those step functions anew; they are traced when they are called."""
        ...

    def release_retained(self) -> ReleasedTraces:
        """Let go of traces of dead models; users' own and live models' stay."""
        ...

    def clear_session(self) -> str:
        """Clear the framework's session, its settings kept; why it was left out, else empty."""
        ...

    def inexact(self, model: KerasModel) -> str:
        """Why a retrace changes the training's result, in words; empty when it does not."""
        ...


@runtime_checkable
class RecreatesVariables(Protocol):
    """What reclaim steps may also know: to make a model's variables anew, not only assign them."""

    def why_not_recreate(self, model: KerasModel, state: Sequence[StateVariable]) -> str:
        """Why variables cannot be made anew safely here, in words; empty when they can.

        Called when the model's functions have been dropped and garbage was collected.
        """
        ...

    def recreate(
        self,
        model: KerasModel,
        state: Sequence[StateVariable],
        values: Callable[[EmptyArrayFactory | None], Iterator[Any]],
    ) -> bool:
        """Let all variables go, then make each anew with its value, in the same Keras objects.

        `values` opens the saved values, one for each variable in order, as numpy arrays; large
        ones in memory that it is given the maker of, or numpy's.
        Whatever it raises, and an interrupt too, comes when every variable has its value again.

        Returns:
            Whether each variable was seen to have the value that was read, every bit.
        """
        ...


@runtime_checkable
class HoldsValues(Protocol):
    """What reclaim steps may also know: to hold a variable's value where it is, without a copy."""

    def hold(self, variable: Any) -> Any | None:
        """The value as a numpy array in the variable's own memory, or None if it would be copied.

        Any operation of the framework that writes to the variable while this is held gives it
        other memory. Memory that a script lent to it (DLPack) can change in place; then the
        variable has what the script wrote, as without a reload.
        """
        ...

    def is_held(self, variable: Any, value: Any) -> bool:
        """Whether the variable still has the memory of a held value, so that it is unchanged."""
        ...


@runtime_checkable
class VetoesActions(Protocol):
    """What reclaim steps may also know: that other processes train the same model."""

    def why_vetoed(self, model: KerasModel, action: str) -> str:
        """Why this process must not "save", "export" or "reload" by itself; else empty."""
        ...


@runtime_checkable
class HasModelParts(Protocol):
    """What reclaim steps may also know: what a model consists of, and what trains it beside."""

    def models_in(self, model: KerasModel) -> list[KerasModel]:
        """The model and those in it whose step functions can be dropped with its own."""
        ...

    def not_saved(self, model: KerasModel) -> tuple[str, ...]:
        """What trains this model and is no part of its state, in words."""
        ...


@runtime_checkable
class ChecksRetracing(Protocol):
    """What reclaim steps may also know: whether a step that is traced again is the same step."""

    def trace_again(self, model: KerasModel) -> str:
        """Make and trace step functions beside those that there are; the model keeps the old ones.

        Returns:
            Why dropping the old ones would change the result; empty if it would not, and then
            `drop_functions` puts the new ones in their place.
        """
        ...

    def forget_traced(self) -> None:
        """Let go of all that `trace_again` made and nobody took."""
        ...


@dataclass(frozen=True, slots=True)
class TraceHolder:
    """Who keeps more traces than it should need, and cannot be made to let go of them.

    Attributes:
        name: Its Python name.
        traces: How many it holds.
        why: What its traces differ in: "300 shapes"; "made 40 times"; empty if not told.
        container: The script's variable or attribute that keeps those that were made; may be
            empty.
    """

    name: str
    traces: int
    why: str = ""
    container: str = ""


@runtime_checkable
class HasTraceHolders(Protocol):
    """What a framework may also know: which functions of the script hold many traces."""

    def trace_holders(self) -> tuple[TraceHolder, ...]:
        """Most traces first, at most eight; costs tens of milliseconds where there are any."""
        ...


class Framework(Protocol):
    """One Keras on one backend. Methods run on the training thread unless they say otherwise.

    None of them raises for a missing private name: the answer then says why it is absent.
    """

    def info(self) -> FrameworkInfo:
        """What is here and what is not; computed once."""
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
        """What save, collect and reload need; None where `probed().unavailable` says why."""
        ...


class CannotBuild(Exception):
    """A model that cannot be built as it was.

    Attributes:
        why: The reason and what to do.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class IteratorStart:
    """Where the iterator began that serves several epochs of a fit, and what it drew from.

    Attributes:
        epochs: Epochs that had run before.
        existed: Whether it was made before the random states were read.
        random: States of the random generators at that epoch's begin.
        generators: Those of the data's own.
    """

    epochs: int
    existed: bool
    random: dict[str, Any]
    generators: list[Any] = field(default_factory=list[Any])


# missing_names: How it is said that a version of a framework lacks what kmonitor reads of it.


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
        why: What is other with it, with "it" for the framework.
    """
    version = getattr(sys.modules.get(_MODULES[framework]), "__version__", "")
    return f"not available with {f'{framework} {version}'.strip()} because {why}"


def missing_name_text(framework: str, name: object) -> str:
    """Not available since a name is not there.

    Args:
        framework: As for `not_available`.
        name: The name, or the error that says which.
    """
    return unavailable_text(framework, f"it lacks a name that kmonitor reads ({name})")
