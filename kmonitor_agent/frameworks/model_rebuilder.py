# pyright: basic
"""Replacement of a model by a new object with the same state: the protocol, and eager Keras."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kmonitor_agent.frameworks.base import KerasModel, StateVariable
from kmonitor_agent.frameworks.global_state import (
    preserve_name_counters,
    read_random_states,
    write_random_states,
)
from kmonitor_agent.frameworks.model_building import (
    CannotRebuild,
    ModelFactory,
    call_model_factory,
    compile_arguments,
    copy_model,
    why_not_copyable,
)

_NOT_OF_THE_MODEL = ("metrics", "seed")
"""Groups of the state that a new model need not have yet: Keras resets metrics at each epoch's
start and creates them at the first step, and the global seed belongs to the process."""


@dataclass(frozen=True, slots=True)
class VariableShape:
    """Facts that decide if a new model's variable can take an old one's value.

    Attributes:
        group: "model", "optimizer", "metrics" or "seed".
        dtype: Name of its dtype.
    """

    group: str
    shape: tuple[int, ...]
    dtype: str

    @property
    def is_wanted(self) -> bool:
        """True if a new model must have this variable."""
        return self.group not in _NOT_OF_THE_MODEL

    @property
    def is_seed(self) -> bool:
        """True for the process's own seed, from which creating a model draws."""
        return self.group == "seed"


class ModelRebuilder(Protocol):
    """Replaces a model of one framework by a new one; on the training thread only.

    Attributes:
        destroys: True if `make` ends the old model, so that there is no way back.
    """

    destroys: bool

    def why_forbidden(self) -> str:
        """Reason why a rebuild is forbidden at this point of the program.

        Empty if it is allowed.
        """
        ...

    def try_out(self, model: KerasModel, script: ModelFactory | None) -> None:
        """Check, as far as is cheap, that `make` will work; changes nothing.

        Raises:
            CannotRebuild: It will not work; the message says what to write.
        """
        ...

    def make(self, model: KerasModel, script: ModelFactory | None) -> KerasModel:
        """A new model, built and compiled, whose state can be assigned.

        Raises:
            CannotRebuild: The new model cannot be created.
        """
        ...


class EagerRebuilder:
    """Keras 3 on any backend, and tf_keras in eager mode: implements `ModelRebuilder`."""

    destroys = False

    def why_forbidden(self) -> str:
        return ""

    def try_out(self, model: KerasModel, script: ModelFactory | None) -> None:
        """Read the configurations; building would take twice the memory."""
        if script is not None:
            return
        compile_arguments(model)
        if why := why_not_copyable(model):
            raise CannotRebuild(why)

    def make(self, model: KerasModel, script: ModelFactory | None) -> KerasModel:
        """Build beside the old model.

        Random numbers and names continue as if nothing was built.
        """
        states = read_random_states()
        try:
            with preserve_name_counters(from_zero=True):
                new_model = (
                    call_model_factory(script)
                    if script is not None
                    else copy_model(model, compile_arguments(model))
                )
                _build_optimizer(new_model)
        finally:
            write_random_states(states)
        return new_model


def variable_shapes(state: Sequence[StateVariable]) -> list[VariableShape]:
    """Groups, shapes and dtypes of a state, in order."""
    return [
        VariableShape(
            group=each.path.partition("/")[0],
            shape=tuple(int(n) for n in each.variable.shape),
            dtype=str(getattr(each.variable.dtype, "name", each.variable.dtype)),
        )
        for each in state
    ]


def check_same_variables(old: Sequence[VariableShape], new: Sequence[VariableShape]) -> None:
    """Check that a new model can take an old one's state.

    Raises:
        CannotRebuild: The new model has other variables.
    """
    old_wanted = [each for each in old if each.is_wanted]
    new_wanted = [each for each in new if each.is_wanted]
    if old_wanted != new_wanted:
        raise CannotRebuild(
            f"the rebuilt model has different variables ({len(new_wanted)} instead of"
            f" {len(old_wanted)}, or other shapes); use rebuild=make_model, a function that"
            " returns the model, built and compiled, with the same layers trainable"
        )


def _build_optimizer(model: KerasModel) -> None:
    # Its slots are made at the first step otherwise, after their values are assigned.
    optimizer = getattr(model, "optimizer", None)
    if optimizer is None or not getattr(model, "built", True):
        return
    variables = model.trainable_variables
    for name in ("build", "_create_all_weights"):
        make = getattr(optimizer, name, None)
        if callable(make) and not (name == "build" and getattr(optimizer, "built", False) is True):
            make(variables)
            return
