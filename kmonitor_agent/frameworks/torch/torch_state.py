# pyright: basic
"""A Keras model's exact state on PyTorch: Keras' variables, and what wrapped modules hold beside.

Values are read and written bit for bit: dtypes that numpy does not know go as integers of the same
width. On the CPU a value that was read shares the variable's memory.
"""

import importlib
from collections.abc import Iterator
from typing import Any, Final

from kmonitor_agent.frameworks.base import KerasModel, StateVariable
from kmonitor_agent.frameworks.keras3.keras3_state import exact_state
from kmonitor_agent.frameworks.torch.torch_internals import torch_module

_FOREIGN: Final = {
    "bfloat16": "int16",
    "float8_e4m3fn": "uint8",
    "float8_e5m2": "uint8",
}
"""dtypes that numpy knows only by ml_dtypes, to integers of the same width."""


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


def tensor_of(variable: Any) -> Any:
    """The tensor that holds a variable's value."""
    return variable if isinstance(variable, torch_module().Tensor) else variable.value


def read_tensor(tensor: Any) -> Any:
    """A tensor's value as a numpy array of the same dtype."""
    torch = torch_module()
    name = _dtype_name(tensor)
    host = tensor.detach().cpu().contiguous()
    if name not in _FOREIGN:
        return host.numpy()
    # ml_dtypes comes with Keras.
    dtype = getattr(importlib.import_module("ml_dtypes"), name)
    return host.view(getattr(torch, _FOREIGN[name])).numpy().view(dtype)


def write_tensor(tensor: Any, value: Any) -> None:
    """Give a tensor the value of a numpy array, in place."""
    torch = torch_module()
    name = _dtype_name(tensor)
    with torch.no_grad():
        if name not in _FOREIGN:
            tensor.copy_(torch.from_numpy(value))
        else:
            raw = torch.from_numpy(value.view(_FOREIGN[name]))
            tensor.copy_(raw.view(tensor.dtype))


def _tensors(model: KerasModel) -> Iterator[tuple[str, Any]]:
    # Every Keras layer is a module of PyTorch there, but not every one is registered as a part of
    # the module that holds it.
    for layer in _layers(model):
        for give in (layer.named_parameters, layer.named_buffers):
            for name, tensor in give():
                yield f"{layer.name}/{name}", tensor


def _layers(model: KerasModel) -> list[Any]:
    flatten = getattr(model, "_flatten_layers", None)
    found = [model, *(flatten() if flatten is not None else model.layers)]
    return [layer for layer in found if isinstance(layer, torch_module().nn.Module)]


def _dtype_name(tensor: Any) -> str:
    return str(tensor.dtype).removeprefix("torch.")
