from dataclasses import replace

import numpy as np
import pytest

from kmonitor.ui.plots.chart_state import (
    NO_POINTS,
    ChartState,
    CurveState,
    LimitLineState,
)


def test_picture_without_curves_or_with_empty_ones_has_no_points():
    empty = CurveState("a", "a", 0, NO_POINTS, NO_POINTS)

    assert not ChartState("bytes", "epochs", (0.0, 1.0)).has_points
    assert not ChartState("bytes", "epochs", (0.0, 1.0), (empty,)).has_points


def test_picture_with_one_point_has_points():
    curve = CurveState("a", "a", 0, np.array([1.0]), np.array([2.0]))

    assert ChartState("bytes", "epochs", (0.0, 1.0), (curve,)).has_points


def test_a_limit_that_is_only_offered_is_no_part_of_a_drawing():
    offered = LimitLineState(1.0, "drag to set a limit", "offered")
    in_force = LimitLineState(1.0, "limit 1 B")
    chart = ChartState("bytes", "epochs", (0.0, 1.0))

    assert replace(chart, limit=offered).without_offer().limit is None
    assert replace(chart, limit=in_force).without_offer().limit == in_force


def drawn(label: str = "a", *, hue: int = 0, marks: int = 3, title: str = "RAM") -> ChartState:
    """A picture with one curve; the arrays of curves are the same objects each time."""
    curve = CurveState("a", label, hue, X, Y)
    return ChartState(
        "bytes",
        "epochs",
        (0.0, 1.0),
        (curve,),
        epoch_marks=np.arange(float(marks)),
        title=title,
    )


X, Y = np.array([1.0, 2.0]), np.array([2.0, 3.0])


def test_picture_with_the_same_arrays_and_words_looks_the_same():
    assert drawn().is_painted_like(drawn())


@pytest.mark.parametrize(
    "other",
    [
        drawn("b"),
        drawn(hue=1),
        drawn(marks=4),
        drawn(title="VRAM"),
        replace(drawn(), curves=()),
        replace(drawn(), curves=(CurveState("a", "a", 0, X, Y.copy()),)),
        replace(drawn(), curves=(CurveState("a", "a", 0, X.copy(), Y),)),
    ],
)
def test_any_difference_looks_different(other: ChartState):
    assert not drawn().is_painted_like(other)


def test_shared_curve_objects_look_the_same():
    one = drawn()

    assert one.is_painted_like(replace(one, title="RAM"))
