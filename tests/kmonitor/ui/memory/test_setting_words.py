"""Settings are written with the digits that they were set with."""

import struct
from typing import Any

import pytest

from kmonitor.ui.memory.model_file import setting_number_text, settings_text


@pytest.mark.parametrize(
    ("value", "expected"),
    [(0.0010000000474974513, "0.001"), (0.25, "0.25"), (0.9990000128746033, "0.999"),
     (0.1, "0.1"), (1e-07, "1e-07"), (1e300, "1e+300"), (0.1234567890123, "0.1234567890123"),
     (0.0, "0.0"), (float("inf"), "Infinity"), (float("nan"), "NaN")],
)  # fmt: skip
def test_a_number_has_the_digits_that_tell_it_apart(value: float, expected: str):
    assert setting_number_text(value) == expected


def test_what_is_shortened_is_the_same_float32():
    value = struct.unpack("f", struct.pack("f", 3.1415927))[0]

    assert struct.pack("f", float(setting_number_text(value))) == struct.pack("f", value)
    assert len(setting_number_text(value)) < 10


def test_a_schedule_is_told_by_its_kind_and_settings():
    schedule: dict[str, Any] = {
        "module": "keras.optimizers.schedules",
        "class_name": "CosineDecay",
        "config": {"initial_learning_rate": 0.001, "decay_steps": 100, "name": "x", "to": None},
        "registered_name": None,
    }

    told = settings_text({"name": "adam", "learning_rate": schedule, "amsgrad": False})

    assert told == (
        "learning_rate=CosineDecay(initial_learning_rate=0.001, decay_steps=100), amsgrad=false"
    )
