"""Smaller inputs that are tried for advice."""

from typing import Any

import msgspec
import pytest

from kmonitor.base.errors import UserError
from kmonitor.cli import map as tried
from kmonitor.memory.model_files.description import ModelSource
from kmonitor_agent.wire.messages.model_layout import ModelLayout
from tests.support.made_up_layouts import tensor, two_dense


def of_input(*lengths: int | None, dtype: str = "float32") -> ModelLayout:
    """A model whose input has these axes behind the batch."""
    layout = two_dense()
    first = tensor(*lengths, dtype=dtype)
    return msgspec.structs.replace(layout, tensors=(first, *layout.tensors[1:]))


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        (of_input(64, 32, 3), [32, 16, 3]),
        (of_input(128, 8), [64, 8]),
        (of_input(128, dtype="int32"), [64]),
        (of_input(128), None),
        (of_input(None, 8), None),
        (of_input(4, 4, 3), None),
    ],
)
def test_pictures_and_series_are_halved_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch, layout: ModelLayout, shape: list[int] | None
):
    asked: list[Any] = []
    monkeypatch.setattr(tried, "describe", lambda _, shapes: asked.append(shapes) or [layout])

    found = tried.smaller_inputs(ModelSource(), layout)

    assert asked == ([] if shape is None else [[[shape]]])
    assert len(found) == (shape is not None)


def test_a_model_that_takes_no_other_input_has_none(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> list[ModelLayout]:
        raise UserError("It takes no such inputs.")

    monkeypatch.setattr(tried, "describe", refuse)

    assert tried.smaller_inputs(ModelSource(), of_input(64, 64, 3)) == {}
