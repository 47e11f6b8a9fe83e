"""Verdicts in words."""

import pytest
from msgspec.structs import replace

from kmonitor.presenters.event_log import event_line
from kmonitor.presenters.formats import clock_text, plain_text
from kmonitor.presenters.verdict_words import (
    advice_of,
    cause_words,
    evidence_lines,
    forecast_words,
    headline,
    short_forecast_words,
    slope_words,
    state_words,
    sureness_words,
    tone_of,
    why_not_words,
)
from kmonitor_agent.protocol.facts import GrewWith, LimitForecast, Verdict

MIB = 2.0**20
GIB = 2.0**30
LEAK = Verdict(
    t_s=400.0,
    metric="ram",
    state="suspected",
    per="epoch",
    units=40,
    unit=40,
    turned=True,
    from_s=60.0,
    to_s=400.0,
    window=34,
    slope=8.1 * MIB,
    slope_low=7.6 * MIB,
    slope_high=8.4 * MIB,
    rise=270 * MIB,
    cause="retained_traces",
    sureness="counted",
    name="train_function",
    grew_with=[GrewWith("retained", 2.0, 1.9, 2.1, "train_function")],
    advice=["collect", "reload", "restart", "build_once", "run_folds"],
    forecast=LimitForecast(12 * GIB, "own", 14.2, 10.4, 20.7, 100.0),
)


def _forecast(verdict: Verdict) -> str:
    return plain_text(forecast_words(verdict, started_wall_s=1.8e9, now_wall_s=1.8e9 + 400.0))


@pytest.mark.parametrize(
    ("verdict", "words", "tone"),
    [
        (replace(LEAK, state="learning", units=4), "learning 4/10", "mute"),
        (replace(LEAK, state="steady"), "steady", "mute"),
        (replace(LEAK, state="growing"), "growing", "warn"),
        (LEAK, "leak suspected", "crit"),
        (replace(LEAK, state="cleared"), "no longer growing", "ok"),
        (replace(LEAK, metric="step_time", state="growing"), "slowing down", "warn"),
        (replace(LEAK, metric="step_time", state="cleared"), "no longer slower", "ok"),
        (replace(LEAK, metric="graph"), "growing", "crit"),
    ],
)
def test_each_state_has_its_words_and_tone(verdict: Verdict, words: str, tone: str):
    assert (state_words(verdict), tone_of(verdict)) == (words, tone)


def test_learning_says_how_much_is_missing():
    told = headline(replace(LEAK, state="learning", units=4, cause="", per="fit"))

    assert plain_text(told) == "learning: a verdict takes 10 fits, 4 measured so far"


def test_a_slope_has_its_interval_its_unit_and_its_window():
    assert plain_text(slope_words(LEAK)) == (
        "+8.10 MiB / epoch (95 % interval 7.6 MiB to 8.4 MiB), over 34 epochs"
    )
    step = replace(LEAK, metric="step_time", slope=0.002, slope_low=-0.001, slope_high=0.003)
    assert "\u22121.00 ms to 3.00 ms" in plain_text(slope_words(step))
    assert slope_words(replace(LEAK, slope=None)) == ""


def test_a_forecast_has_its_band_and_the_time_of_day():
    moment = clock_text(1.8e9 + 400.0 + 1420.0, seconds=False)

    assert _forecast(LEAK) == f"limit 12 GiB in about 14 epochs (10 to 21), about {moment}"


def test_a_short_forecast_leaves_out_which_limit_and_the_time_of_day():
    assert plain_text(short_forecast_words(LEAK)) == "limit in about 14 epochs (10 to 21)"
    assert short_forecast_words(replace(LEAK, forecast=None)) == ""


@pytest.mark.parametrize(
    ("forecast", "words"),
    [
        (None, ""),
        (
            LimitForecast(16 * GIB, "host", 9.0, 5.0),
            "host limit 16 GiB in 5 epochs at the earliest",
        ),
        (
            LimitForecast(8 * GIB, "cgroup", 1748.0, 1294.0, 2689.0),
            "cgroup limit 8 GiB in 1 300 epochs at the earliest",
        ),
        (
            LimitForecast(24 * GIB, "device", 348.0, 211.0, 566.0),
            "device limit 24 GiB in about 350 epochs (210 to 570)",
        ),
        (LimitForecast(1 * GIB, "own", 0.6, 0.2, 1.0), "limit 1 GiB in about 1 epoch (0 to 1)"),
    ],
)
def test_a_forecast_claims_no_more_than_is_known(forecast: LimitForecast | None, words: str):
    assert _forecast(replace(LEAK, forecast=forecast)) == words


@pytest.mark.parametrize(
    ("cause", "name", "words"),
    [
        ("retained_traces", "f", "traces of models that are gone are kept (f)"),
        ("retained_traces", "", "traces of models that are gone are kept"),
        ("retracing", "scale", "scale is traced again and again"),
        ("retracing", "", "a function is traced again and again"),
        ("python", "t.py:12", "Python keeps what is allocated, most of it at t.py:12"),
        ("python", "", "Python keeps objects"),
        ("unknown", "", "nothing that is counted grew with it"),
        ("rebuilt", "", "models or optimizers are built anew, and something keeps them"),
        ("workers", "", "child processes of the training take more and more"),
        ("native", "", "native code keeps what it takes with malloc"),
        ("cache", "", "the allocator's cache or fragmentation, as far as is counted"),
        ("of a newer hub", "", ""),
    ],
)
def test_each_cause_has_its_words(cause: str, name: str, words: str):
    verdict = replace(LEAK, cause=cause, name=name)

    assert cause_words(verdict) == words
    assert headline(verdict) == (f"leak suspected: {words}" if words else "leak suspected")


@pytest.mark.parametrize(
    ("sureness", "words"),
    [
        ("counted", "That very thing was counted, and grew over the same units"),
        ("fitting", "What grew is usually caused by this; it is not proven"),
        ("open", "The cause is open"),
        ("", ""),
    ],
)
def test_each_sureness_has_its_words(sureness: str, words: str):
    assert sureness_words(replace(LEAK, sureness=sureness)) == words


def test_the_evidence_tells_what_grew_with_it():
    lines = [plain_text(line) for line in evidence_lines(LEAK)]

    assert lines[1] == (
        "With it grew: traces of models that are gone (train_function) +2 / epoch (1.9 \u2013 2.1)"
    )
    by_line = GrewWith("python_bytes", 5 * MIB, 5 * MIB, 5 * MIB, "t.py:12")
    lines = evidence_lines(replace(LEAK, grew_with=[by_line]))
    assert "what Python allocated (t.py:12) +5.0 MiB / epoch" in plain_text(lines[1])


def test_what_is_steady_says_why_it_is_not_growth():
    steady = replace(LEAK, state="steady", why_not="bending", grew_with=[], cause="", sureness="")

    assert evidence_lines(steady)[1:] == ["its growth bends towards a ceiling, as a cache's does"]
    for code in ("too_small", "no_trend", "steps", "slowing", "stopped"):
        assert why_not_words(replace(steady, why_not=code))


def test_advice_is_an_action_where_there_is_one():
    told = advice_of(LEAK)

    assert [(one.text, one.command) for one in told] == [
        ("Collect", "collect"),
        ("Reload", "reload"),
        ("Restart", "restart"),
        ("build model and optimizer once, outside of the loop", None),
        ("train each model in a process of its own", None),
    ]
    tensors = replace(LEAK, name="scale", advice=["tensors_not_numbers", "diagnose", "nothing"])
    assert [(one.text, one.command) for one in advice_of(tensors)] == [
        ("pass tensors instead of Python numbers to scale", None),
        ("Diagnose", "diagnose"),
    ]


def test_the_log_tells_turns_of_what_grows_and_what_no_longer_does():
    line = event_line(LEAK, name="run")
    cleared = event_line(replace(LEAK, state="cleared", cause=""), name="run")

    assert line is not None
    assert line.level == "warning"
    assert line.text.startswith("RAM: leak suspected: traces of models")
    assert cleared is not None
    assert (cleared.level, cleared.text) == ("info", "RAM: no longer growing")
    assert event_line(replace(LEAK, turned=False), name="run") is None
    assert event_line(replace(LEAK, state="steady"), name="run") is None
