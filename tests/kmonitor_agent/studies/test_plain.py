"""Results of folds come back as they were, and nothing that executes can be among them."""

import threading
from enum import StrEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmonitor_agent.studies.values import NotPlainData, pack_value, unpack_value

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
)
PLAIN = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.text() | st.integers(-5, 5), inner)
        | st.lists(inner).map(tuple)
    ),
    max_leaves=20,
)


class Colour(StrEnum):
    RED = "red"


@given(PLAIN)
def test_plain_data_come_back_as_they_were(value: object):
    again = unpack_value(pack_value(value))

    assert again == value
    assert type(again) is type(value)


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64", "<U4", "datetime64[s]"])
def test_arrays_come_back_as_they_were(dtype: str):
    array = np.zeros((2, 3), dtype)

    again = unpack_value(pack_value({"a": [array]}))["a"][0]

    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)
    again[0] = array[1]  # it can be written


def test_numpys_numbers_become_plain_ones():
    value = {"loss": np.float32(0.5), "n": np.int64(3), "is": np.bool_(1), "red": Colour.RED}

    again = unpack_value(pack_value(value))

    assert again == {"loss": 0.5, "n": 3, "is": True, "red": "red"}
    assert [type(each) for each in again.values()] == [float, int, bool, str]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (threading.Lock(), "lock"),
        ([{"f": print}], "builtin_function_or_method"),
        (np.array([object()]), "ndarray of object"),
        ({1, 2}, "set"),
        ({(1, 2): 3}, "dict with a key of type tuple"),
        (np.ma.array([1, 2], mask=[False, True]), "MaskedArray"),
    ],
)
def test_what_is_not_plain_is_named(value: object, kind: str):
    with pytest.raises(NotPlainData) as met:
        pack_value(value)

    assert met.value.kind == kind


def test_what_refers_to_itself_is_not_plain():
    value: list[object] = []
    value.append(value)

    with pytest.raises(NotPlainData):
        pack_value(value)


def test_what_fails_when_it_is_read_is_not_plain():
    class Broken:
        dtype = np.dtype("float32")

        def __array__(self, *_: object) -> np.ndarray:
            raise RuntimeError("it was released")

    with pytest.raises(NotPlainData, match="Broken that cannot be read"):
        pack_value([Broken()])


@given(st.binary())
def test_any_bytes_are_read_or_refused(data: bytes):
    try:
        unpack_value(data)
    except ValueError:
        return
