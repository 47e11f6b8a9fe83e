"""Each value of a script is read separately; one that cannot be read costs nothing else."""

import contextlib
import math
import warnings
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kmonitor_agent.frameworks.script_values import (
    numeric_logs,
    safe_bool,
    safe_count,
    safe_float,
    safe_get,
    safe_getattr,
    safe_text,
)
from tests.support.odd_values import NO_NUMBERS, NUMBERS, ODD, Endless, StopsHalfway

NAMED = st.sampled_from(list(ODD))
"""By name: what is printed of a failure must be printable."""


def test_numbers_of_all_kinds_are_read():
    for name, (value, wanted) in NUMBERS.items():
        with warnings.catch_warnings(action="error"):
            found = safe_float(value)

        assert type(found) is float, name
        assert found == wanted or (math.isnan(found) and math.isnan(wanted)), name


def test_what_is_no_number_is_none():
    for name, value in NO_NUMBERS.items():
        with warnings.catch_warnings(action="error"):
            assert safe_float(value) is None, name


def test_counts_truths_texts_and_items_are_pythons_own_or_absent():
    for name, value in ODD.items():
        count = safe_count(value)

        assert count is None or (type(count) is int and 0 <= count < 2**63), name
        assert type(safe_bool(value)) is bool, name
        assert type(safe_text(value)) is str, name
        safe_get(value, "steps")
        safe_getattr(value, "name")


@given(st.lists(st.tuples(st.text(min_size=1), st.one_of(st.floats(), NAMED))), st.sets(NAMED))
def test_logs_give_each_number_that_has_a_name(items: list[tuple[str, Any]], names: set[str]):
    logs: dict[Any, Any] = {"loss": 0.5}
    logs |= {name: ODD[value] if isinstance(value, str) else value for name, value in items}
    for each in names:
        with contextlib.suppress(Exception):  # not all of them can be in a dict
            logs[ODD[each]] = 1.0
    logs["val_loss"] = 0.25

    found = numeric_logs(logs, name_of=lambda name: name[:200], most=10_000)

    assert found["val_loss"] == 0.25
    assert all(type(name) is str and type(value) is float for name, value in found.items())
    assert found.keys() >= {
        name[:200] for name, value in dict(items).items() if isinstance(value, float)
    }


def test_logs_of_a_class_of_the_scripts_are_read_without_its_methods():
    logs = StopsHalfway(loss=1.0, other=2.0)

    assert numeric_logs(logs, name_of=str, most=9) == {"loss": 1.0, "other": 2.0}
    assert numeric_logs(Endless(loss=1.0), name_of=str, most=9) == {"loss": 1.0}


def test_what_is_no_mapping_gives_nothing():
    for name in ODD.keys() - {"dict", "stops halfway"}:
        assert numeric_logs(ODD[name], name_of=str, most=9) == {}, name


def test_no_more_than_asked_for_are_given():
    assert len(numeric_logs(dict.fromkeys(range(50), 1.0), name_of=str, most=7)) == 7
