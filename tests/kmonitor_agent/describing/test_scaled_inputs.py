"""Larger and smaller inputs that a model is described with."""

import pytest

from kmonitor_agent.describing.layout_child import scaled_shape


@pytest.mark.parametrize(
    ("shape", "dtype", "scale", "expected"),
    [
        ((96, 96, 3), "float32", 0.5, (48, 48, 3)),
        ((None, None, 3), "float32", 2.0, (448, 448, 3)),
        ((16, 64, 64, 1), "float32", 1.5, (24, 96, 96, 1)),
        ((50, 8), "float32", 2.0, (100, 8)),
        ((None,), "int32", 0.25, (32,)),
        ((64,), "int64", 2.0, (128,)),
        ((3,), "int32", 0.1, (1,)),
    ],
)
def test_lengths_follow_and_features_stay(
    shape: tuple[int | None, ...], dtype: str, scale: float, expected: tuple[int, ...]
):
    assert scaled_shape(shape, dtype, scale) == expected


@pytest.mark.parametrize(
    ("shape", "dtype"), [((784,), "float32"), ((), "float32"), ((28, 28, None), "float32")]
)
def test_what_has_no_length_has_no_other_size(shape: tuple[int | None, ...], dtype: str):
    assert scaled_shape(shape, dtype, 2.0) is None
