# pyright: basic
"""Child process that builds a model, describes its layout and traces its training step."""

from typing import Any

import msgspec

from kmonitor_agent.describing.child import answer_request, user_code_error_text
from kmonitor_agent.describing.layout_child import build_optimizer, model_shapes
from kmonitor_agent.describing.model_source import ModelOrigin, construct_model
from kmonitor_agent.frameworks.layout_reader import read_layout
from kmonitor_agent.frameworks.tensorflow.step_program import (
    CannotTrace,
    set_optimizer,
    trace_training_step,
)
from kmonitor_agent.wire.messages.model_layout import ModelLayout, OptimizerLayout
from kmonitor_agent.wire.messages.step_program import StepProgram


class TraceRequest(msgspec.Struct, frozen=True):
    """Request for a description and a trace of a model.

    Attributes:
        source: Origin of the model.
        shape: Shape for every input, without the batch axis; empty: the model's own.
        sequence: Length for every open axis; 0: open axes stay open.
        optimizer: Optimizer in place of the model's; None: the model's own.
        precision: Dtype policy in place of the model's; empty: the model's own.
    """

    source: ModelOrigin
    shape: list[list[int]] = []
    sequence: int = 0
    optimizer: OptimizerLayout | None = None
    precision: str = ""


class TraceReply(msgspec.Struct, frozen=True):
    """Description and trace of a model.

    Attributes:
        layout: Layout of the model as it is; None if there is none.
        program: Program of the step as requested; None if it cannot be traced.
        untraced: Reason why the step cannot be traced; empty if it can.
        error: Error text about the model; empty if there was no error.
    """

    layout: ModelLayout | None = None
    program: StepProgram | None = None
    untraced: str = ""
    error: str = ""


def main() -> None:
    """Read `TraceRequest` from standard input, write `TraceReply` to standard output."""
    answer_request(TraceRequest, _trace_reply, lambda error: TraceReply(error=error))


def _trace_reply(request: TraceRequest) -> TraceReply:
    if request.precision and request.source.script:
        import keras

        keras.config.set_dtype_policy(request.precision)
    model = construct_model(request.source)
    build_optimizer(model)
    shapes = model_shapes(model, request.shape, request.sequence)
    layout = read_layout(model, shapes)
    try:
        return TraceReply(layout, _traced(model, request, shapes))
    except CannotTrace as exc:
        return TraceReply(layout, untraced=exc.why)
    except Exception as exc:  # noqa: BLE001 - frameworks change, and so does the user's code
        return TraceReply(layout, untraced=user_code_error_text(exc))


def _traced(
    model: Any, request: TraceRequest, shapes: list[tuple[int | None, ...]] | None
) -> StepProgram:
    if request.precision and str(model.dtype_policy.name) != request.precision:
        raise CannotTrace(f"the model is in {model.dtype_policy.name}, not {request.precision}")
    if request.optimizer is not None:
        set_optimizer(model, request.optimizer)
    return trace_training_step(model, shapes)
