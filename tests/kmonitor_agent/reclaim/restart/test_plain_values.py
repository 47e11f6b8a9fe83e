"""Callbacks' values come back from JSON and arrays as they were."""

import json
import math
from typing import Any

import numpy as np
import pytest

from kmonitor_agent.reclaim.restart.fit_state import (
    ArrayStore,
    NotPlainAttribute,
    from_json,
    to_json,
)


def _through(value: Any) -> Any:
    shelf = ArrayStore()
    return from_json(json.loads(json.dumps(to_json(value, shelf))), shelf)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "text",
        -3,
        2**80,
        0.1,
        math.inf,
        {"a": [1, (2.5, None)], 3: {"b": ()}, (1, 2): "tuple"},
        [np.float32(0.1), [np.int64(3)]],
        np.less,
    ],
)
def test_plain_values_come_back_equal_and_of_the_same_type(value: Any):
    back = _through(value)

    assert back == value
    assert type(back) is type(value)


def test_arrays_come_back_with_dtype_and_shape():
    value = {"weights": [np.arange(6, dtype="float16").reshape(2, 3), np.zeros((0, 2))]}

    back = _through(value)

    for before, after in zip(value["weights"], back["weights"], strict=True):
        np.testing.assert_array_equal(before, after)
        assert (before.dtype, before.shape) == (after.dtype, after.shape)


def test_nan_stays_nan():
    assert math.isnan(_through(math.nan))


@pytest.mark.parametrize("value", [object(), {1}, [lambda: None], np.array(["a"]), type, print])
def test_what_is_not_plain_is_refused(value: Any):
    with pytest.raises(NotPlainAttribute):
        to_json(value, ArrayStore())


def test_what_nests_without_end_is_refused():
    value: list[Any] = []
    value.append(value)

    with pytest.raises(NotPlainAttribute):
        to_json(value, ArrayStore())


@pytest.mark.parametrize(
    "found", [{"code": "x"}, {"comparison": "os:system"}, {"comparison": "numpy:load"}]
)
def test_nothing_else_is_read(found: Any):
    with pytest.raises(ValueError, match=r"a (value|comparison)"):
        from_json(found, ArrayStore())
