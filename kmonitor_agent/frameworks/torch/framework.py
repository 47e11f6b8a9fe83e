# pyright: basic
"""Keras 3 on PyTorch: facts about models, and save, collect and reload inside of `fit`.

The state of a model includes tensors that only PyTorch knows. Compiled graphs and the allocator
have modules of their own.
"""

import importlib
import sys
from collections.abc import Iterator, Sequence
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
    StateVariable,
)
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
from kmonitor_agent.frameworks.model_parts import (
    all_layers_of,
    name_of,
    variable_dtype,
    variable_value,
)
from kmonitor_agent.frameworks.script_values import instance_dict, is_instance
from kmonitor_agent.frameworks.torch.graphs import (
    TorchGraphs,
    empty_device_caches,
    reset_dynamo,
    torch_module,
)
from kmonitor_agent.frameworks.torch.memory import TorchAllocator
from kmonitor_agent.wire.messages.readings import Reading


class TorchFramework:
    """Reads and reclaims a Keras on PyTorch.

    Made on the training thread, which owns it; `function_count` and `allocator` may be called
    from any thread.
    """

    def __init__(self, *, versions: dict[str, str]) -> None:
        self._graphs = TorchGraphs()
        self._allocator = TorchAllocator(_keras_device())
        self._steps = Keras3TorchReclaim(self._graphs)
        self._framework_info = FrameworkInfo(
            backend="torch", versions=versions, unavailable=self._unavailable()
        )

    def info(self) -> FrameworkInfo:
        """Facts from the time when PyTorch was first used."""
        return self._framework_info

    def fit_facts(self, model: KerasModel) -> FitFacts:
        return read_fit_facts(model)

    def learning_rate(self, model: KerasModel) -> Reading:
        return read_learning_rate(model)

    def describe(self, model: KerasModel) -> ModelDescription:
        return read_description(model)

    def graph(self, model: KerasModel | None) -> GraphCount:
        """Graphs that `torch.compile` captured; see `graphs`."""
        del model
        return self._graphs.count()

    def function_count(self) -> Reading:
        """Captured graphs; any thread."""
        return self._graphs.number()

    def functions_made(self) -> Reading:
        return self.function_count()

    def allocator(self) -> AllocatorReadings:
        """Allocator of Keras' device; any thread."""
        return self._allocator.read()

    def reclaim_steps(self) -> ReclaimSteps | None:
        return self._steps

    def _unavailable(self) -> dict[str, str]:
        unavailable: dict[str, str] = {}
        if why := self._graphs.why_unreadable():
            unavailable["graph"] = why
        allocator = self._allocator.read()
        # A GPU that has not started yet is reported later.
        if allocator.device and allocator.in_use.absent:
            unavailable["allocator"] = allocator.in_use.absent
        return unavailable


def _keras_device() -> str:
    try:
        from keras.src.backend.torch.core import get_device

        return str(get_device())
    except (ImportError, AttributeError):
        cuda = getattr(sys.modules["torch"], "cuda", None)
        return "cuda" if cuda is not None and cuda.is_available() else "cpu"


class Keras3TorchReclaim:
    """Implements `ReclaimSteps`; owned by the training thread.

    PyTorch's random generators are left alone: nothing here draws from them.
    """

    def __init__(self, graphs: TorchGraphs) -> None:
        self._graphs = graphs

    def state(self, model: KerasModel) -> list[StateVariable]:
        check_functions(model)
        return torch_state(model)

    def read(self, variable: Any) -> Any:
        """Value as a numpy array of the variable's own dtype."""
        return read_tensor(tensor_of(variable))

    def assign(self, variable: Any, value: Any) -> None:
        """Assign in place: the tensor, its device and its gradient stay."""
        write_tensor(tensor_of(variable), value)

    def drop_functions(self, model: KerasModel) -> Sequence[str]:
        """Forget train, test and predict functions, except one that the script put there."""
        return drop_functions(model)

    def make_functions(self, model: KerasModel, names: Sequence[str]) -> None:
        """Create these functions again; `torch.compile` compiles when they are called."""
        make_functions(model, names)

    def release_retained(self) -> ReleasedTraces:
        """Release memory that the device's allocator holds but does not use.

        PyTorch retains no graphs.
        """
        empty_device_caches()
        return ReleasedTraces()

    def clear_session(self) -> str:
        """Release what `torch.compile` compiled. Keras' settings stay, they hold no memory."""
        why = reset_dynamo()
        if not why:
            self._graphs.all_dropped()
        return why

    def models_in(self, model: KerasModel) -> list[KerasModel]:
        return models_in(model)

    def not_saved(self, model: KerasModel) -> tuple[str, ...]:
        return unsaved_optimizers(model)

    def inexact(self, model: KerasModel) -> str:
        """Non-empty if the step is compiled: the compiler remembers the shapes it has seen."""
        values = instance_dict(model)
        if not values.get("_jit_compile") or values.get("_run_eagerly"):
            return ""
        return (
            "may not be exact: after a reload, torch.compile may compile programs for different "
            "batch sizes than before; without jit_compile=True, it is exact"
        )


_FOREIGN: Final = {
    "bfloat16": "int16",
    "float8_e4m3fn": "uint8",
    "float8_e5m2": "uint8",
}
"""dtypes that numpy knows only through ml_dtypes, to integers of the same width."""


def torch_state(model: KerasModel) -> list[StateVariable]:
    """Keras' variables, then parameters and buffers that only PyTorch knows, each once.

    A `torch.nn.BatchNorm` in a model, for example, keeps its statistics in buffers.

    Raises:
        StateUnreadable: The model is not built, so there is nothing to save yet.
    """
    state = exact_state(model)
    known = {id(tensor_of(each.variable)) for each in state}
    for path, tensor in _tensors(model):
        if id(tensor) not in known:
            known.add(id(tensor))
            n_bytes = tensor.element_size() * tensor.nelement()
            state.append(StateVariable(f"torch/{path}", n_bytes, tensor))
    return state


def _tensors(model: KerasModel) -> Iterator[tuple[str, Any]]:
    # Every Keras layer is a module of PyTorch there, but not every one is registered as a part of
    # the module that holds it.
    for layer in _layers(model):
        for kind in ("_parameters", "_buffers"):
            for name, tensor in _held_tensors(layer, kind, set()):
                yield f"{name_of(layer)}/{name}", tensor


def _held_tensors(module: Any, kind: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Like PyTorch's `named_parameters` and `named_buffers`, which call each module."""
    seen.add(id(module))
    values = instance_dict(module)
    for name, tensor in list((values.get(kind) or {}).items()):
        if tensor is not None:
            yield name, tensor
    for name, inner in list((values.get("_modules") or {}).items()):
        if inner is not None and id(inner) not in seen:
            yield from ((f"{name}.{n}", each) for n, each in _held_tensors(inner, kind, seen))


def _layers(model: KerasModel) -> list[Any]:
    layers = [model, *all_layers_of(model)]
    return [layer for layer in layers if is_instance(layer, torch_module().nn.Module)]


def tensor_of(variable: Any) -> Any:
    """The tensor that holds a variable's value."""
    is_tensor = is_instance(variable, torch_module().Tensor)
    return variable if is_tensor else variable_value(variable)


def read_tensor(tensor: Any) -> Any:
    """A tensor's value as a numpy array of the same dtype."""
    torch = torch_module()
    name = variable_dtype(tensor)
    host = tensor.detach().cpu().contiguous()
    if name not in _FOREIGN:
        return host.numpy()
    # ml_dtypes comes with Keras.
    dtype = getattr(importlib.import_module("ml_dtypes"), name)
    return host.view(getattr(torch, _FOREIGN[name])).numpy().view(dtype)


def write_tensor(tensor: Any, value: Any) -> None:
    """Give a tensor the value of a numpy array, in place."""
    torch = torch_module()
    name = variable_dtype(tensor)
    with torch.no_grad():
        if name not in _FOREIGN:
            tensor.copy_(torch.from_numpy(value))
        else:
            raw = torch.from_numpy(value.view(_FOREIGN[name]))
            tensor.copy_(raw.view(tensor.dtype))
