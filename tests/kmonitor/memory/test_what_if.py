"""Other batches, limits and advice, each the estimate with one thing changed."""

from kmonitor.memory.calibration import PeakMeasurement
from kmonitor.memory.estimate import Plan, estimate
from kmonitor.memory.what_if import advise, largest_batches, peaks_over_batch
from tests.support.made_up_layouts import two_dense

MIB = 2**20


def test_the_curve_is_the_estimate_at_each_batch():
    layout = two_dense()

    curve = peaks_over_batch(layout, Plan(batch=1), (4, 64))

    assert [each.batch for each in curve] == [4, 64]
    assert [each.peak_bytes for each in curve] == [
        estimate(layout, Plan(batch=n)).peak_bytes for n in (4, 64)
    ]


def test_the_largest_batch_fits_and_one_more_does_not():
    layout, limit = two_dense(), 64 * MIB

    fit = largest_batches(layout, Plan(batch=1), limit)

    assert fit.certain is not None
    assert fit.likely is not None
    assert fit.certain < fit.likely
    assert estimate(layout, Plan(batch=fit.likely)).peak_bytes <= limit
    assert estimate(layout, Plan(batch=fit.likely + 1)).peak_bytes > limit
    assert (estimate(layout, Plan(batch=fit.certain)).high_bytes or 0) <= limit
    assert (estimate(layout, Plan(batch=fit.certain + 1)).high_bytes or 0) > limit


def test_where_nothing_fits_none_is_said():
    fit = largest_batches(two_dense(), Plan(batch=1), 1000)

    assert (fit.certain, fit.likely) == (None, None)


def test_advice_saves_what_it_says_and_the_most_comes_first():
    layout, plan = two_dense(), Plan(batch=4096)

    advised = advise(layout, plan)

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

    advised = advise(layout, Plan(batch=4096, precision="float16"), {"nothing smaller": layout})

    assert all(each.change != "input" for each in advised)


def test_a_measurement_corrects_curve_and_fit():
    layout = two_dense()
    plain = estimate(layout, Plan(batch=4096))
    twice = PeakMeasurement(4096, plain.resident_bytes + 2 * plain.transient_bytes)

    [peak] = peaks_over_batch(layout, Plan(batch=1), [4096], [twice])
    fit = largest_batches(layout, Plan(batch=1), plain.peak_bytes, [twice])

    assert abs(peak.peak_bytes - twice.peak_bytes) < 2
    assert fit.likely is not None
    assert fit.likely < 4096
