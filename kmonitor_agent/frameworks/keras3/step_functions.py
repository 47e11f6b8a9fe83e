# pyright: basic
"""The step functions of Keras 3's models, and how they are made anew on JAX and PyTorch."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any, Final

from kmonitor_agent.frameworks.base import KerasModel, StateUnreadable
from kmonitor_agent.frameworks.keras3.deferred_function import drop_function, make_function
from kmonitor_agent.frameworks.keras3.state import contents_of
from kmonitor_agent.frameworks.live_objects import models_in_use

FUNCTIONS: Final = ("train_function", "test_function", "predict_function")
"""Attributes of a model that hold its step functions; `fit` reads the first anew each step."""


def check_functions(model: KerasModel) -> None:
    """See that the model keeps its step functions where Keras does.

    Raises:
        StateUnreadable: It does not.
    """
    if not all(hasattr(model, name) for name in FUNCTIONS):
        raise StateUnreadable("this model keeps its step functions elsewhere")


def models_in(model: KerasModel) -> list[KerasModel]:
    """The model, and the models in it that no other thread is using at this moment.

    A GAN's parts that a loop trains by `train_on_batch` have traces of their own. Another thread
    that evaluates a part reads its function at each step, so that one must stay.
    """
    kind: Any = getattr(sys.modules.get("keras"), "Model", ())
    if not isinstance(model, kind):
        return [model]  # of tf_keras
    parts = [each for each in contents_of(model).models if each is not model]
    parts = [each for each in parts if any(step_functions(each))]
    used = models_in_use(elsewhere=True) if parts else set[int]()
    return [model, *(each for each in parts if id(each) not in used)]


def step_functions(model: KerasModel | None) -> Iterator[Any]:
    """The step functions that have been made."""
    for name in FUNCTIONS:
        function = getattr(model, name, None)
        if function is not None:
            yield function


def drop_functions(model: KerasModel) -> Sequence[str]:
    """Forget the step functions but for one that the script put there; names of the others."""
    made = [name for name in FUNCTIONS if _can_be_made_again(model, name)]
    for name in made:
        drop_function(model, name)
    return made


def make_functions(model: KerasModel, names: Sequence[str]) -> None:
    """Make them as Keras would when it next needs them; nothing is compiled yet."""
    for name in names:
        make_function(model, name)


def _can_be_made_again(model: KerasModel, name: str) -> bool:
    function = getattr(model, name, None)
    if function is None:
        return False
    maker = getattr(type(model), f"make_{name}", None)
    made_by = str(getattr(_unwrapped(function), "__module__", ""))
    # Keras' own function, or that of a class which makes it in its own way.
    return made_by.startswith("keras.") or not str(getattr(maker, "__module__", "")).startswith(
        "keras."
    )


def _unwrapped(function: Any) -> Any:
    # jax.jit and torch.compile wrap what Keras gives them.
    return getattr(function, "__wrapped__", function)
