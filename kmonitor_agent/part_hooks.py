# pyright: basic
"""The one callback that a training in parts gives to Keras; the script's stand behind it.

Keras begins and ends every call of `fit`. Most callbacks start afresh when they begin:
EarlyStopping forgets its best, CSVLogger empties its file. So they see one beginning and one end.
"""

from collections.abc import Sequence
from typing import Any, Final, Protocol

from kmonitor_agent.frameworks.base import KerasModel

_BATCH_HOOKS: Final = tuple(
    f"on_{mode}batch_{end}" for mode in ("train_", "test_", "predict_") for end in ("begin", "end")
)
_TEST_HOOKS: Final = ("on_test_begin", "on_test_end", "on_predict_begin", "on_predict_end")


class PartOwner(Protocol):
    """Who decides whether a call of `fit` is the last one."""

    @property
    def goes_on(self) -> bool:
        """Whether another call follows the one that ends now."""
        ...

    def part_begun(self) -> None:
        """A call that follows another is about to begin its first epoch."""
        ...

    def epoch_ended(self, model: KerasModel, epoch: int) -> None:
        """All callbacks have seen this epoch's end."""
        ...


def part_callback(keras: Any, owner: PartOwner, callbacks: Sequence[Any]) -> Any:
    """A callback of this Keras that stands for all the others.

    Args:
        keras: keras or tf_keras.
        owner: Told of each epoch's end.
        callbacks: The others, in order. Those with `on_part_begin` and `on_part_end` are told so.
    """
    base = keras.callbacks.Callback
    # Keras looks at what a callback overrides: on JAX and PyTorch the end of a batch costs a wait.
    used = {
        name: [each for each in callbacks if _overrides(each, name, base)] for name in _BATCH_HOOKS
    }
    body: dict[str, Any] = {name: _each(name, some) for name, some in used.items() if some}
    body |= {name: _each(name, callbacks) for name in _TEST_HOOKS}
    body |= {
        "__module__": __name__,
        "_owner": owner,
        "_inner": tuple(callbacks),
        "async_safe": all(getattr(each, "async_safe", False) for each in _distinct(used)),
        "_supports_tf_logs": all(
            getattr(each, "_supports_tf_logs", False)
            for each in callbacks
            if _asks(each, "_implements_train_batch_hooks")
        ),
    }
    return type("KmonitorParts", (_Hooks, base), body)()


class _Hooks:
    """Mixed with Keras' own Callback."""

    _owner: PartOwner
    _inner: tuple[Any, ...]
    _has_begun = False
    model: Any

    def set_params(self, params: Any) -> None:
        for each in self._inner:
            each.set_params(params)

    def set_model(self, model: Any) -> None:
        self._model = model
        for each in self._inner:
            each.set_model(model)

    def on_train_begin(self, logs: Any = None) -> None:
        """The first part begins the training; a later one only begins itself."""
        begun, self._has_begun = self._has_begun, True
        for each in self._inner:
            if not begun:
                each.on_train_begin(logs)
            elif hasattr(each, "on_part_begin"):
                each.on_part_begin()
        if begun:
            self._owner.part_begun()

    def on_train_end(self, logs: Any = None) -> None:
        """The last part ends the training; an earlier one only itself."""
        for each in self._inner:
            if not self._owner.goes_on:
                each.on_train_end(logs)
            elif hasattr(each, "on_part_end"):
                each.on_part_end()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        for each in self._inner:
            each.on_epoch_begin(epoch, logs)

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        for each in self._inner:
            each.on_epoch_end(epoch, logs)
        self._owner.epoch_ended(self._model, epoch)

    def _implements_train_batch_hooks(self) -> bool:
        return any(_asks(each, "_implements_train_batch_hooks") for each in self._inner)

    def _implements_test_batch_hooks(self) -> bool:
        return any(_asks(each, "_implements_test_batch_hooks") for each in self._inner)

    def _implements_predict_batch_hooks(self) -> bool:
        return any(_asks(each, "_implements_predict_batch_hooks") for each in self._inner)


def _each(name: str, callbacks: Sequence[Any]) -> Any:
    def hook(self: Any, *arguments: Any, **named: Any) -> None:
        """Hand it on to every callback."""
        del self
        for each in callbacks:
            # Looked up each time: an instance may replace its hook while it runs.
            getattr(each, name)(*arguments, **named)

    hook.__name__ = name
    return hook


def _overrides(callback: Any, name: str, base: type) -> bool:
    if name in vars(callback):
        return True
    plain = name.replace("train_", "") if "train_" in name else name
    return any(
        getattr(type(callback), hook, None) is not getattr(base, hook, None)
        for hook in {name, plain}
    )


def _distinct(used: dict[str, list[Any]]) -> list[Any]:
    ends = (each for name, some in used.items() if name.endswith("_end") for each in some)
    return list({id(each): each for each in ends}.values())


def _asks(callback: Any, question: str) -> bool:
    ask = getattr(callback, question, None)
    return bool(ask()) if callable(ask) else True
