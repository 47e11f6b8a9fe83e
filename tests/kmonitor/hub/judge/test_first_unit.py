import numpy as np
import pytest

from kmonitor.hub.judge.first_epoch import first_unit_rise

MIB = 2.0**20
T = np.linspace(0.0, 10.0, 200)
LATER = np.full(4, 1000.0 * MIB)


def test_what_rises_evenly_and_stays_is_measured():
    """30 MiB a second: 150 MiB from the minimum of the fifth part of ten to that of the last."""
    found = first_unit_rise(T, (700.0 + 30.0 * T) * MIB, (0.0, 10.0), LATER)

    assert found is not None
    assert found.rise == pytest.approx(150.0 * MIB, rel=0.02)
    assert found.later_rise == pytest.approx(30.0 * MIB, rel=0.1)


@pytest.mark.parametrize(
    "values",
    [
        700.0 + 300.0 * (1.0 - np.exp(-T)),
        700.0 + 300.0 * (T > 6.0),
        700.0 + 2.0 * T,
        1000.0 - 30.0 * T,
    ],
    ids=["at the start", "at once", "little", "falls"],
)
def test_what_does_not_rise_evenly_is_no_data_set(values: np.ndarray):
    assert first_unit_rise(T, values * MIB, (0.0, 10.0), LATER) is None


def test_too_few_samples_or_epochs_tell_nothing():
    values = (700.0 + 30.0 * T) * MIB

    assert first_unit_rise(T, values, (0.0, 10.0), LATER[:1]) is None
    assert first_unit_rise(T[::40], values[::40], (0.0, 10.0), LATER) is None
