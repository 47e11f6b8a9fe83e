"""What a search is given, told as plain data and files and made again."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kmonitor.integrations.handed_over import HandedOver, NotEncodable, decode
from kmonitor_agent.studies.values import pack_value, unpack_value


class Callback:
    """As Keras' callbacks: attributes, one of them a function."""

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.schedule = double
        self.own = self.waits

    def waits(self) -> int:
        """Its patience."""
        return self.patience


def double(value: int) -> int:
    """Twice."""
    return 2 * value


def again(folder: Path, value: Any) -> Any:
    handed = HandedOver(folder)
    told = unpack_value(pack_value(handed.encode("value", value)))
    return decode(told, handed.callables)


def test_structures_come_back_as_they_are(tmp_path: Path):
    value = {"a": [1, (2.5, None)], 3: ("x", b"y", True), "f": double}

    assert again(tmp_path, value) == value


def test_arrays_are_written_once_and_come_back_writable(tmp_path: Path):
    array = np.arange(12.0).reshape(3, 4)

    found = again(tmp_path, {"x": array, "same": (array,)})
    found["x"][0, 0] = 7.0

    assert np.array_equal(found["same"][0], array)
    assert again(tmp_path, array)[0, 0] == 0.0
    assert again(tmp_path, np.float32(1.5)) == 1.5


def test_an_object_comes_back_by_its_attributes(tmp_path: Path):
    found = again(tmp_path, [Callback(3)])[0]

    assert type(found) is Callback
    assert (found.waits(), found.schedule(4)) == (3, 8)
    assert "own" not in vars(found)


@pytest.mark.parametrize(
    ("value", "where", "kind"),
    [
        ({"x": [threading.Lock()]}, "value['x'][0]", "lock"),
        ([json], "value[0]", "module"),
        ((each for each in [1]), "value", "generator"),
        (np.asarray([object()]), "value", "ndarray"),
    ],
)
def test_what_cannot_be_told_is_refused_by_its_place(
    tmp_path: Path, value: object, where: str, kind: str
):
    with pytest.raises(NotEncodable) as refused:
        HandedOver(tmp_path).encode("value", value)

    assert (refused.value.where, refused.value.kind) == (where, kind)
