# pyright: basic
"""Which Keras models are alive in this process, and which of them are being used right now."""

import itertools
import sys
from threading import get_ident
from typing import Any, Final

from kmonitor_agent.call_stacks import call_stacks, locals_of
from kmonitor_agent.frameworks.base import KerasModel
from kmonitor_agent.frameworks.instances import instances_of

_FUNCTIONS: Final = ("train_function", "test_function", "predict_function")


def models_with_functions() -> list[KerasModel]:
    """Every living model that was fitted, evaluated or asked to predict.

    Looks through all objects that the garbage collector follows: tens of milliseconds in a large
    process. Objects that the script froze (`gc.freeze`) are not found.
    """
    return [model for model in instances_of(_model_classes()) if _has_functions(model)]


def models_in_use(*, elsewhere: bool = False) -> set[int]:
    """Identities of the models that some thread's running call belongs to.

    A model whose `fit` runs must keep its step function: Keras reads it anew at each step.

    Args:
        elsewhere: Whether to leave out the calls of this thread, which wait while it acts.
    """
    kinds = _model_classes()
    used: set[int] = set()
    with call_stacks() as stacks:
        if elsewhere:
            stacks.pop(get_ident(), None)
        for frame in itertools.chain.from_iterable(stacks.values()):
            # Only methods of models are looked into: reading all locals of every frame costs.
            if frame.f_code.co_varnames[:1] == ("self",):
                with locals_of(frame) as found:
                    owner = found.get("self")
                if kinds and issubclass(type(owner), kinds):
                    used.add(id(owner))
    return used


def _model_classes() -> tuple[type, ...]:
    found = (getattr(sys.modules.get(name), "Model", None) for name in ("keras", "tf_keras"))
    return tuple(each for each in found if isinstance(each, type))


def _has_functions(model: Any) -> bool:
    # In the instance: an unbuilt model's `__getattr__` may be the script's own.
    attributes = getattr(model, "__dict__", {})
    return any(attributes.get(name) is not None for name in _FUNCTIONS)
