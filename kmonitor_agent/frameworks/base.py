"""Protocols of a framework, with their values; each backend implements them in its own folder.

A new backend implements `Framework`, and `ReclaimSteps` to be saved and reloaded: for TensorFlow
in `tensorflow.reclaim`, for tf_keras in `tf_keras.reclaim` and `tf_keras.graph_mode`, for JAX and
PyTorch beside the framework in `jax.framework` and `torch.framework`. It also needs its names
wherever backends differ:

- The agent: a case in `detection`; `_MODULES` and `computes_behind` here; `keras3.state`,
  `keras3.resuming`, `global_state`, `input_timing`, `kept.sizes`, `kept.buffers`, `model_parts`,
  `script_values`; `recording.diagnosis`, `fitting` and `collecting`.
- Estimates and texts (`kmonitor`): `memory.layer_rules`, `memory.estimate`, `memory.calibration`,
  `memory.model_files.description`; `hub.judge.causes` and `units`, `notebook`; `cli.map`,
  `cli.doctor.command`; `ui.memory.device_split`, `ui.memory.what_if`, `ui.events.event_text`;
  `ui.verdicts.verdict_text` and `kept_text`, `counted_text`, `time_text` beside it; the forms in
  `ui.text.hub_text`.

`tests/frameworks/backends/` tests it, in an environment created by
`packaging/kmonitor_trials/backends.py`.

`Framework` reads a Keras on a backend, `ReclaimSteps` saves and reloads its models. Steps may
implement optional protocols too, `HasWorkerGroup` of `tensorflow.workers` among them; the agent
checks for those with `isinstance`. `detection` decides the framework of a model; fits resumed by
another process and models rebuilt have protocols of their own (`resuming`, `model_rebuilder`). The
texts at the end are for versions that lack a name which kmonitor reads.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, Self, runtime_checkable

from kmonitor_agent.frameworks.data_kinds import UNKNOWN_DATA, KindOfData
from kmonitor_agent.wire.messages.events import FunctionTraces, LayerFacts, SlotFacts
from kmonitor_agent.wire.messages.readings import Reading

KerasModel = Any
"""A Keras model; typed loosely since no framework is imported at module level."""

EmptyArrayFactory = Callable[[tuple[int, ...], Any], Any]
"""Creates a numpy array of this shape and dtype to be filled."""


@dataclass(frozen=True, slots=True)
class FitFacts:
    """Facts about how a model is compiled and about to be fitted.

    Attributes:
        model: Model name.
        batch_size: Examples per step; None if the data decide it.
        sequence_length: Length of the data along axes that the model leaves open; None if there
            are no open axes, or if lengths differ or are unknown.
        steps_per_execution: Steps of one call of the step function.
        optimizer: Class name, or empty.
        learning_rate: Current learning rate; None if it cannot be read.
        jit_compile: Argument of `compile`; None if unknown.
        run_eagerly: True if steps run without a graph.
        dtype_policy: Name of the model's policy.
        loss: As text.
        is_built: True if layers and optimizer slots exist already; else the first step creates
            them.
        cache_steps: Steps after which an in-memory cache of the data is full; None without a
            cache, or if unknown.
        cache_bytes: Size of the full cache, bytes; None if shapes vary.
        data: Kind of the data.
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
    data: KindOfData = UNKNOWN_DATA


@dataclass(frozen=True, slots=True)
class ModelDescription:
    """Layers, weights and optimizer slots of a model; shared weights counted once.

    Attributes:
        kind: Class name.
        layers: All layers, nested models flattened.
        parameters: Number of weights.
        slots: Optimizer variables by kind.
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
        operations: Operations in all live traces and registered functions; None if absent.
        traces: Number of live traces.
        functions: Number of functions registered with the runtime.
        retained: Registry entries that keep traces of dead models, and disused ones; None if
            unknown.
        disused: Those of them that a model with living weights no longer uses: it was compiled
            again, or a new model has its layers.
        step_entries: Registry entries of Keras step functions, dead or live; None if unknown.
        by_function: Traces by function, largest first, at most 64.
        source: Source of the numbers; empty if absent.
        absent: Reason why there are no numbers; empty if there are.
    """

    operations: int | None
    traces: int = 0
    functions: int = 0
    retained: int | None = None
    disused: int = 0
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
        peak: Peak so far, bytes.
        limit: Maximum that it may take, bytes.
    """

    device: str
    in_use: Reading
    peak: Reading
    limit: Reading

    @classmethod
    def missing(cls, device: str, why: str) -> Self:
        """Readings that are all absent, with the reason."""
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
        path: Path in the model, for people; not unique.
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
        disused: Number of these traces whose model was compiled again, or dropped the function:
            the model's weights live on.
        held: Traces that stay, with their holders, as text.
        why: Reason why nothing could be examined; empty if it could.
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
        """Forget the model's step functions; return the names of those that existed."""
        ...

    def make_functions(self, model: KerasModel, names: Sequence[str]) -> None:
        """Create those step functions again; they are traced when they are called."""
        ...

    def release_retained(self) -> ReleasedTraces:
        """Release traces of dead models; users' own and live models' stay."""
        ...

    def clear_session(self) -> str:
        """Clear the framework's session, keep its settings.

        Return why it was not done, else "".
        """
        ...

    def inexact(self, model: KerasModel) -> str:
        """Reason why a retrace changes the training's result, as text; empty if it does not."""
        ...


@runtime_checkable
class RecreatesVariables(Protocol):
    """Optional for reclaim steps: recreating a model's variables, not only assigning them."""

    def why_not_recreate(self, model: KerasModel, state: Sequence[StateVariable]) -> str:
        """Reason why variables cannot be recreated safely here, as text; empty if they can.

        Called after the model's functions have been dropped and garbage was collected.
        """
        ...

    def recreate(
        self,
        model: KerasModel,
        state: Sequence[StateVariable],
        values: Callable[[EmptyArrayFactory | None], Iterator[Any]],
    ) -> bool:
        """Release all variables, then recreate each with its value, in the same Keras objects.

        `values` opens the saved values, one per variable in order, as numpy arrays; large ones in
        memory from the factory that it receives, or else in numpy's own. Exceptions, and
        interrupts too, are raised only after every variable has its value again.

        Returns:
            True if each variable was verified to have the value that was read, every bit.
        """
        ...


@runtime_checkable
class HoldsValues(Protocol):
    """Optional for reclaim steps: holding a variable's value where it is, without a copy."""

    def hold(self, variable: Any) -> Any | None:
        """The value as a numpy array in the variable's own memory, or None if it would be copied.

        Any operation of the framework that writes to the variable while its value is held gives
        the variable other memory. Memory that a script lent to it (DLPack) can change in place;
        then the variable has the values that the script wrote, as without a reload.
        """
        ...

    def is_held(self, variable: Any, value: Any) -> bool:
        """True if the variable still has the memory of a held value, so that it is unchanged."""
        ...


@runtime_checkable
class VetoesActions(Protocol):
    """Optional for reclaim steps: vetoes where other processes train the same model."""

    def why_vetoed(self, model: KerasModel, action: str) -> str:
        """Reason why this process must not "save", "export" or "reload" alone; else empty."""
        ...


@runtime_checkable
class HasModelParts(Protocol):
    """Optional for reclaim steps: parts of a model, and optimizers that train it from outside."""

    def models_in(self, model: KerasModel) -> list[KerasModel]:
        """The model and the models in it whose step functions can be dropped with its own."""
        ...

    def not_saved(self, model: KerasModel) -> tuple[str, ...]:
        """Optimizers that train this model and are not part of its state, as texts."""
        ...


@runtime_checkable
class ChecksRetracing(Protocol):
    """Optional for reclaim steps: a check that a step traced again is the same step."""

    def trace_again(self, model: KerasModel) -> str:
        """Create and trace step functions beside the existing ones; the model keeps the old ones.

        Returns:
            Reason why dropping the old functions would change the result; empty if it would not,
            and then `drop_functions` puts the new ones in their place.
        """
        ...

    def forget_traced(self) -> None:
        """Release functions that `trace_again` created and that were not used."""
        ...


@dataclass(frozen=True, slots=True)
class TraceHolder:
    """A function of the script that keeps more traces than it should need.

    Attributes:
        name: Its Python name.
        traces: Number of traces that it holds; for a function created again and again, the sum
            over all of that name.
        why: Differences between its traces: "300 shapes"; "made 40 times"; empty if unknown.
        container: Variable or attribute of the script that keeps the created functions; may be
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
        """Facts about how this model is compiled."""
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

    def functions_made(self) -> Reading:
        """Measure that grows with each new function, whatever is freed meanwhile, as far as known.

        Training thread, microseconds.
        """
        ...

    def allocator(self) -> AllocatorReadings:
        """Allocator of the first GPU, else of the CPU device; any thread, microseconds."""
        ...

    def reclaim_steps(self) -> ReclaimSteps | None:
        """Steps of save, collect and reload; None where `info().unavailable` says why."""
        ...


def computes_behind(framework: Framework) -> bool:
    """True if steps are handed to a device, which may still compute them when later ones begin.

    JAX does so on the CPU too; TensorFlow and PyTorch finish a step on the CPU before it returns.
    Also True for a device that was not started yet, since it is unknown.
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
    """Text: not available with this version, and why.

    Args:
        framework: "JAX", "Keras", "PyTorch", "TensorFlow" or "tf_keras".
        why: A clause, with "it" for the framework.
    """
    version = getattr(sys.modules.get(_MODULES[framework]), "__version__", "")
    return f"not available with {f'{framework} {version}'.strip()} because {why}"


def missing_name_text(framework: str, name: object) -> str:
    """Text: not available because a name is missing.

    Args:
        framework: As for `unavailable_text`.
        name: The missing name, or the error that names it.
    """
    return unavailable_text(framework, f"it lacks an attribute that kmonitor needs ({name})")
