"""A model's description with its training step traced, from a process that runs its code."""

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from kmonitor.base.errors import Expected
from kmonitor.memory.model_files.description import ModelSource, answer_of, remedy
from kmonitor_agent.wire.messages.model_layout import ModelLayout, OptimizerLayout
from kmonitor_agent.wire.messages.step_program import StepProgram

_CHILD: Final = "from kmonitor_agent.describing.trace_child import main; main()"


@dataclass(frozen=True, slots=True)
class TracedModel:
    """A model and its step.

    Attributes:
        layout: Of the model as it is.
        program: Of its training step; None where it could not be traced.
        untraced: Why not, in words; empty if it was.
    """

    layout: ModelLayout
    program: StepProgram | None
    untraced: str


class _Told(msgspec.Struct, frozen=True):
    layout: ModelLayout | None = None
    program: StepProgram | None = None
    untraced: str = ""
    error: str = ""


def has_tensorflow() -> bool:
    """Whether steps can be traced here: TensorFlow is there, and Keras is not told to use another.

    Nothing is imported.
    """
    backend = os.environ.get("KERAS_BACKEND", "tensorflow")
    return backend == "tensorflow" and importlib.util.find_spec("tensorflow") is not None


def trace_model(
    source: ModelSource,
    shape: Sequence[Sequence[int]] = (),
    *,
    sequence: int = 0,
    optimizer: OptimizerLayout | None = None,
    precision: str = "",
) -> TracedModel:
    """Make the model in a process of its own, and have it described and its step traced.

    Args:
        source: Of the model.
        shape: For every input, without the batch; empty: the model's own.
        sequence: Length for open axes; 0: they stay open.
        optimizer: Another than the model's; None: its own.
        precision: Another dtype policy; empty: its own.

    Raises:
        Expected: It cannot be made there, or does not take such inputs.
    """
    asked = {
        "source": source,
        "shape": shape,
        "sequence": sequence,
        "optimizer": optimizer,
        "precision": precision,
    }
    told = answer_of(_CHILD, asked, _Told, "makes the model")
    if told.layout is None:
        raise Expected(f"The model cannot be described: {told.error}.", remedy(told.error))
    return TracedModel(told.layout, told.program, told.untraced)
