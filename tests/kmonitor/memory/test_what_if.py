"""Other batches, limits and advice, each from the one estimate of the map."""

from kmonitor.memory.calibration import PeakMeasurement
from kmonitor.memory.estimate import Plan, estimate
from kmonitor.memory.map_result import MapQuestion
from kmonitor.memory.what_if import BatchFit
from tests.support.made_up_layouts import two_dense
from tests.support.made_up_maps import whole_map

MIB = 2**20


def test_the_curve_is_the_estimate_at_each_batch_and_the_maps_own():
    layout = two_dense()

    curve = whole_map(MapQuestion(layout, Plan(batch=16), batches=(4, 64))).points

    assert [each.batch for each in curve] == [4, 16, 64]
    assert [each.peak_bytes for each in curve] == [
        estimate(layout, Plan(batch=n)).peak_bytes for n in (4, 16, 64)
    ]


def test_the_largest_batch_fits_and_one_more_does_not():
    layout, limit = two_dense(), 64 * MIB

    fit = whole_map(MapQuestion(layout, Plan(batch=1), limit_bytes=limit)).fit

    assert fit is not None
    assert fit.certain is not None
    assert fit.likely is not None
    assert fit.certain < fit.likely
    assert estimate(layout, Plan(batch=fit.likely)).peak_bytes <= limit
    assert estimate(layout, Plan(batch=fit.likely + 1)).peak_bytes > limit
    assert (estimate(layout, Plan(batch=fit.certain)).high_bytes or 0) <= limit
    assert (estimate(layout, Plan(batch=fit.certain + 1)).high_bytes or 0) > limit


def test_where_nothing_fits_none_is_said():
    fit = whole_map(MapQuestion(two_dense(), Plan(batch=1), limit_bytes=1000)).fit

    assert fit == BatchFit(None, None)


def test_advice_saves_what_it_says_and_the_most_comes_first():
    layout, plan = two_dense(), Plan(batch=4096)

    advised = whole_map(MapQuestion(layout, plan)).advice

    now = estimate(layout, plan).peak_bytes
    assert advised[0].change in ("batch", "accumulation")
    assert [each.saved_bytes for each in advised] == sorted(
        (each.saved_bytes for each in advised), reverse=True
    )
    assert all(each.peak_bytes == now - each.saved_bytes for each in advised)
    half = next(each for each in advised if each.change == "batch")
    assert half.peak_bytes == estimate(layout, Plan(batch=2048)).peak_bytes


def test_a_smaller_input_is_advice_where_it_was_described():
    layout = two_dense()
    question = MapQuestion(
        layout, Plan(batch=4096, precision="float16"), smaller_inputs={"nothing smaller": layout}
    )

    advised = whole_map(question).advice

    assert all(each.change != "input" for each in advised)


def test_a_measurement_corrects_curve_fit_and_advice():
    layout = two_dense()
    plain = estimate(layout, Plan(batch=4096))
    twice = PeakMeasurement(4096, plain.resident_bytes + 2 * plain.transient_bytes)

    result = whole_map(
        MapQuestion(layout, Plan(batch=4096), [twice], plain.peak_bytes, batches=(2048,))
    )

    half, whole = result.points
    assert abs(whole.peak_bytes - twice.peak_bytes) < 2
    assert result.fit is not None
    assert result.fit.likely is not None
    assert result.fit.likely < 4096
    [advice] = [each for each in result.advice if each.change == "batch"]
    assert advice.peak_bytes == half.peak_bytes
    assert advice.saved_bytes == whole.peak_bytes - half.peak_bytes
