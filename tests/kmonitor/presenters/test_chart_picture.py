import numpy as np

from kmonitor.presenters.chart_picture import NO_POINTS, ChartPicture, CurvePicture


def test_picture_without_curves_or_with_empty_ones_has_no_points():
    empty = CurvePicture("a", "a", 0, NO_POINTS, NO_POINTS)

    assert not ChartPicture("bytes", "epochs", (0.0, 1.0)).has_points
    assert not ChartPicture("bytes", "epochs", (0.0, 1.0), (empty,)).has_points


def test_picture_with_one_point_has_points():
    curve = CurvePicture("a", "a", 0, np.array([1.0]), np.array([2.0]))

    assert ChartPicture("bytes", "epochs", (0.0, 1.0), (curve,)).has_points


def test_pictures_are_told_apart_by_identity_for_arrays_have_no_equality():
    assert ChartPicture("bytes", "epochs", (0.0, 1.0)) != ChartPicture(
        "bytes", "epochs", (0.0, 1.0)
    )
