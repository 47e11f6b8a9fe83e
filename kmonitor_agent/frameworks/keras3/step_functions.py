# pyright: basic
"""Step functions of Keras 3's models: finding, dropping and recreating them.

A reload drops them. Until a step function is made again, the model has a `DeferredFunction` in its
place, so that it is never without one. TensorFlow's need more, see `tensorflow.reclaim`.
"""

import inspect
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from kmonitor_agent.frameworks.base import KerasModel, StateUnreadable
from kmonitor_agent.frameworks.keras3.state import find_contents
from kmonitor_agent.frameworks.live_objects import FUNCTIONS, models_in_use
from kmonitor_agent.frameworks.script_values import has_attribute, instance_dict, is_instance

_OF_KERAS: Final = ("keras.", "tf_keras.")


def models_in(model: KerasModel) -> list[KerasModel]:
    """The model, and the models in it that no other thread is using at this moment.

    A GAN's parts that a loop trains by `train_on_batch` have traces of their own. Another thread
    that evaluates a part reads its function at each step, so that one must stay.
    """
    kind: Any = getattr(sys.modules.get("keras"), "Model", None)
    if not (isinstance(kind, type) and is_instance(model, kind)):
        return [model]  # of tf_keras
    submodels = [each for each in find_contents(model).models if each is not model]
    submodels = [each for each in submodels if any(step_functions(each))]
    used = models_in_use(elsewhere=True) if submodels else set[int]()
    return [model, *(each for each in submodels if id(each) not in used)]


def step_functions(model: KerasModel | None) -> Iterator[Any]:
    for name in FUNCTIONS:
        function = instance_dict(model).get(name)
        if function is not None:
            yield function


def check_functions(model: KerasModel) -> None:
    """Check that the model keeps its step functions where Keras does.

    Raises:
        StateUnreadable: The model keeps its step functions elsewhere.
    """
    if not all(has_attribute(model, name) for name in FUNCTIONS):
        raise StateUnreadable(
            "this model does not keep its step functions where kmonitor expects them"
        )


def drop_functions(model: KerasModel) -> Sequence[str]:
    """Forget the step functions except one that the script put there.

    Return the forgotten names.
    """
    dropped = [name for name in FUNCTIONS if is_recreatable(model, name)]
    for name in dropped:
        drop_function(model, name)
    return dropped


def make_functions(model: KerasModel, names: Sequence[str]) -> None:
    """Create step functions as Keras would when it next needs them; nothing is compiled yet."""
    for name in names:
        make_function(model, name)


def drop_function(model: KerasModel, name: str) -> None:
    """Have the model release a step function, which is created again when needed."""
    setattr(model, name, DeferredFunction(model, name))


def make_function(model: KerasModel, name: str) -> None:
    """Create a step function as Keras would when it next needs it, unless there is one.

    Even if creating it raises, the model keeps a function or a `DeferredFunction`.
    """
    deferred = getattr(model, name)
    make = getattr(model, f"make_{name}")
    if deferred is None:
        make()
    elif not isinstance(deferred, DeferredFunction):
        return
    elif "force" in inspect.signature(make).parameters:
        make(force=True)  # else Keras takes the deferred one for made
    else:
        _make_unforced(model, name, make)


def _make_unforced(model: KerasModel, name: str, make: Callable[[], Any]) -> None:
    # A class of the script's own, which makes it in its own way.
    deferred = getattr(model, name)
    setattr(model, name, None)
    try:
        make()
    finally:
        if getattr(model, name) is None:
            setattr(model, name, deferred)


def make_spare_function(model: KerasModel, name: str) -> Any:
    """Create another step function; the model keeps the one that it has."""
    old = getattr(model, name)
    try:
        drop_function(model, name)
        make_function(model, name)
        return getattr(model, name)
    finally:
        setattr(model, name, old)


def is_recreatable(model: KerasModel, name: str) -> bool:
    """True if a step function is Keras' own, or created by the model class's own method.

    The script may have put another one there, which Keras would not make again.
    """
    function = getattr(model, name, None)
    if function is None:
        return False
    maker = str(getattr(getattr(type(model), f"make_{name}", None), "__module__", ""))
    return is_of_keras(function) or not maker.startswith(_OF_KERAS)


def is_of_keras(function: Any) -> bool:
    """True if Keras defined the Python code of a step function."""
    # tf.function, jax.jit and torch.compile wrap what Keras gives them.
    wrapped = getattr(function, "__wrapped__", function)
    python_function = getattr(function, "python_function", wrapped)
    return str(getattr(python_function, "__module__", "")).startswith(_OF_KERAS)


class DeferredFunction:
    """Placeholder for a model's step function until one is created.

    Holds neither model nor function.
    """

    __slots__ = ("__weakref__", "_model", "_name")

    def __init__(self, model: KerasModel, name: str) -> None:
        self._model = weakref.ref(model)
        self._name = name

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Create the step function and call it with the same arguments."""
        model = self._model()
        make_function(model, self._name)
        return getattr(model, self._name)(*args, **named)
