"""Limits: what may be written, and what they are called."""

from typing import Any

import pytest

from kmonitor_agent import Limit
from kmonitor_agent.wire.limits import limit_text
from kmonitor_agent.wire.messages.commands import LimitSpec

GIB = 2**30


@pytest.mark.parametrize(
    ("metric", "threshold", "value", "fraction"),
    [
        ("ram", "80%", None, 0.8),
        ("vram", "62.5 %", None, 0.625),
        ("ram", "12 GiB", 12 * GIB, None),
        ("ram", "1.5GB", 1.5e9, None),
        ("ram", "8Gi", 8 * GIB, None),
        ("ram", "8g", 8 * GIB, None),
        ("ram", 2 * GIB, 2 * GIB, None),
        ("graph", "50 k", 50_000, None),
        ("graph", "12 000", 12_000, None),
        ("functions", 700, 700, None),
        ("step_time", "250 ms", 0.25, None),
        ("step_time", "1.5 s", 1.5, None),
        ("step_time", 2, 2.0, None),
    ],
)
def test_threshold_is_read_in_the_metric_s_unit(
    metric: str, threshold: Any, value: float | None, fraction: float | None
):
    spec = Limit(metric, threshold).spec

    assert spec.value == value
    assert spec.fraction == (pytest.approx(fraction) if fraction else None)
    assert (spec.action, spec.hold_s, spec.cooldown_s, spec.set_by) == ("notify", 0, 60, "script")


@pytest.mark.parametrize(
    ("arguments", "more", "says"),
    [
        (("memory", "80%"), {}, 'use one of "ram"'),
        (("ram", "80%"), {"action": "explode"}, 'use one of "notify"'),
        (("graph", "80%"), {}, "graph has no upper bound"),
        (("ram", "120%"), {}, "not between 0% and 100"),
        (("ram", "much"), {}, '"12 GiB"'),
        (("ram", "12 parsecs"), {}, '"12 GiB"'),
        (("step_time", "3 GiB"), {}, '"250 ms"'),
        (("ram", 0.8), {}, "percentage for a fraction"),
        (("graph", -5), {}, "a number of operations"),
        (("graph", 1.5), {}, "requires a whole number"),
        (("graph", float("nan")), {}, "a number of operations"),
        (("ram", "80%"), {"hold_s": -1}, "use a number of seconds"),
        (("ram", "80%"), {"cooldown_s": "1 min"}, "use a number of seconds"),
        (("ram", "80%"), {"hold_s": True}, "use a number of seconds"),
    ],
)
def test_limit_that_makes_no_sense_says_what_to_write(
    arguments: tuple[Any, ...], more: dict[str, Any], says: str
):
    with pytest.raises(ValueError, match=says):
        Limit(*arguments, **more)


def test_threshold_that_is_missing_is_asked_for():
    with pytest.raises(TypeError, match=r'threshold for ram is missing; use .*"80%"'):
        Limit("ram")


def test_threshold_beyond_every_number_is_refused_in_words():
    with pytest.raises(ValueError, match="is not a threshold; use"):
        Limit("ram", 10**400)


@pytest.mark.parametrize("threshold", [None, True, [1]])
def test_threshold_that_is_no_number_is_refused(threshold: Any):
    with pytest.raises(TypeError, match="is not a number"):
        Limit("ram", threshold)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (LimitSpec(metric="ram", fraction=0.8), "limit ram 80%"),
        (LimitSpec(metric="graph", value=50_000), "limit graph 50 000"),
        (LimitSpec(metric="functions", value=7), "limit functions 7"),
        (LimitSpec(metric="ram", value=577_765_376.0), "limit ram 551 MiB"),
        (LimitSpec(metric="ram", value=12 * 2**30), "limit ram 12 GiB"),
        (LimitSpec(metric="ram", value=1.5 * 2**30), "limit ram 1.5 GiB"),
        (LimitSpec(metric="vram", value=2**30 - 1), "limit vram 1 GiB"),
        (LimitSpec(metric="ram", value=2.5 * 2**20), "limit ram 2.5 MiB"),
        (LimitSpec(metric="ram"), "limit"),
        (LimitSpec(metric="step_time", value=1.5), "limit step_time 1.5 s"),
        (LimitSpec(metric="step_time", value=0.25), "limit step_time 250 ms"),
        (LimitSpec(metric="step_time", value=1e-6), "limit step_time 1 µs"),
    ],
)
def test_limit_names_itself(spec: LimitSpec, text: str):
    assert limit_text(spec) == text
