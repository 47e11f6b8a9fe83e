"""Text of forecasts: on the header's chip and in full."""

from typing import Any

import pytest
from msgspec.structs import replace

from kmonitor.ui.shell.header import header_state
from kmonitor.ui.text.formats import clock_text, day_minute_text, with_plain_spaces
from kmonitor.ui.verdicts.forecast_text import (
    forecast_chip_text,
    forecast_text,
    nearest_verdict,
    short_forecast_text,
)
from kmonitor.ui.verdicts.verdict_store import VerdictStore
from kmonitor_agent.wire.messages.events import LimitForecast, Verdict
from tests.support.made_up_runs import made_up_run
from tests.support.made_up_verdicts import GIB
from tests.support.made_up_verdicts import LEAK as MADE_UP

RUN = made_up_run(started_wall_s=1.8e9, epoch=40, epochs=9000)
NOW_WALL_S = 1.8e9 + 400.0
LEAK = replace(
    MADE_UP, to_s=400.0, forecast=LimitForecast(12 * GIB, "own", 14.2, 10.4, 20.7, 100.0)
)
DAY_S = 86400.0


def _book(*verdicts: Verdict) -> VerdictStore:
    book = VerdictStore(lambda _: 1)
    for verdict in verdicts:
        book.apply_event(RUN.run, verdict, is_live=True)
    return book


def _forecast(verdict: Verdict) -> str:
    return with_plain_spaces(forecast_text(RUN, verdict, now_wall_s=NOW_WALL_S))


def test_a_forecast_has_its_band_and_the_time_of_day():
    moment = clock_text(1.8e9 + 400.0 + 1420.0, seconds=False)

    assert _forecast(LEAK) == f"limit 12 GiB in about 14 epochs (10 to 21), about {moment}"


def test_a_short_forecast_leaves_out_which_limit_and_the_time_of_day():
    assert (
        with_plain_spaces(short_forecast_text(RUN, LEAK)) == "limit in about 14 epochs (10 to 21)"
    )
    assert short_forecast_text(RUN, replace(LEAK, forecast=None)) == ""


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
        (LimitForecast(1 * GIB, "own", 0.2, 0.0, 1.4), "limit 1 GiB within 2 epochs"),
        (LimitForecast(1 * GIB, "cgroup", 0.0, 0.0, 0.0, 9.0), "cgroup limit 1 GiB is reached"),
    ],
)
def test_a_forecast_claims_no_more_than_is_known(forecast: LimitForecast | None, words: str):
    assert _forecast(replace(LEAK, forecast=forecast)) == words


@pytest.mark.parametrize(
    ("of", "words"),
    [("host", "out of memory with the next fit"), ("own", "limit 1 GiB within 1 fit")],
)
def test_what_comes_with_the_next_model_is_not_in_about_0_models(of: Any, words: str):
    forecast = LimitForecast(GIB, of, 0.3, 0.1, 0.9)

    assert _forecast(replace(LEAK, per="fit", forecast=forecast)) == words


def test_the_header_says_when_the_nearest_limit_is_met_and_at_what_time():
    moment = clock_text(NOW_WALL_S + 1420.0, seconds=False)
    later = replace(
        LEAK, metric="vram", forecast=LimitForecast(GIB, "device", 90.0, 80.0, 99.0, 9e3)
    )

    assert nearest_verdict([later, LEAK]) is LEAK
    picture = header_state(RUN, _book(later, LEAK), now_wall_s=NOW_WALL_S, is_connected=True)
    (chip,) = (chip for chip in picture.chips if chip.key == "forecast")
    assert with_plain_spaces(chip.text) == f"limit in about 14 epochs (10 to 21) \u00b7 {moment}"
    assert chip.tone == "warn"
    assert "limit 12 GiB" in with_plain_spaces(chip.tooltip)


def test_a_moment_of_another_day_has_its_day():
    far = replace(LEAK, forecast=LimitForecast(GIB, "host", 14.0, 10.0, 21.0, DAY_S))

    assert day_minute_text(NOW_WALL_S + 14 * DAY_S) in forecast_chip_text(
        RUN, far, now_wall_s=NOW_WALL_S
    )


@pytest.mark.parametrize("state", ["finished", "failed", "lost"])
def test_a_run_that_has_ended_has_no_forecast(state: str):
    run = made_up_run(state=state)

    assert forecast_chip_text(run, LEAK, now_wall_s=NOW_WALL_S) == ""
    assert forecast_text(run, LEAK, now_wall_s=NOW_WALL_S) == ""
    picture = header_state(run, _book(LEAK), now_wall_s=NOW_WALL_S, is_connected=True)
    assert all(chip.key != "forecast" for chip in picture.chips)


def test_a_limit_beyond_the_planned_end_is_said_to_be():
    run = made_up_run(epoch=80, epochs=90)

    assert short_forecast_text(run, LEAK) == "the fit will end before the limit is reached"
    assert with_plain_spaces(forecast_text(run, LEAK, now_wall_s=NOW_WALL_S)) == (
        "limit 12 GiB in about 14 epochs (10 to 21); the fit will end before that, in 10 epochs"
    )
    picture = header_state(run, _book(LEAK), now_wall_s=NOW_WALL_S, is_connected=True)
    assert [chip.tone for chip in picture.chips if chip.key == "forecast"] == ["plain"]


def test_a_limit_that_may_come_before_the_planned_end_is_a_warning():
    run = made_up_run(epoch=79, epochs=90)

    assert "will end before" not in forecast_chip_text(run, LEAK, now_wall_s=NOW_WALL_S)
