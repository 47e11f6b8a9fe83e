"""Verdicts as the window keeps and shows them."""

from dataclasses import replace as changed
from typing import Any

import pytest
from msgspec.structs import replace

from kmonitor.ui.charts.cards import NO_RATE, RateLabel
from kmonitor.ui.charts.series_store import SeriesStore
from kmonitor.ui.charts.standard_charts import ForecastBuilder
from kmonitor.ui.run_tree.run_tree import host_rows
from kmonitor.ui.runs.run_store import RunStore
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts.evidence import (
    evidence_state,
    judged_rate,
    suspicion_text,
)
from kmonitor.ui.verdicts.forecast_text import forecast_chip_text
from kmonitor.ui.verdicts.verdict_label import NO_VERDICT, verdict_label
from kmonitor.ui.verdicts.verdict_store import VerdictStore
from kmonitor_agent.wire.messages.events import EpochEnded, LimitForecast
from kmonitor_agent.wire.messages.unions import (
    Message,
    SeriesRequest,
    VerdictsReply,
    VerdictsRequest,
)
from tests.support.made_up_runs import made_up_run, told_runs, told_series
from tests.support.made_up_verdicts import GIB, LEAK, NOW_WALL_S


class Asked:
    """Numbers every question and keeps it."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def __call__(self, message: Message) -> int:
        self.messages.append(message)
        return len(self.messages)


def _ended(epoch: int) -> EpochEnded:
    return EpochEnded(t_s=1.0, fit=1, epoch=epoch, seconds=1.0)


def test_the_selected_runs_verdicts_are_asked_once_and_after_each_epoch():
    asked = Asked()
    book = VerdictStore(asked)

    book.want("run1")
    book.want("run1")
    book.apply_event("run1", _ended(0), is_live=True)
    assert asked.messages == [VerdictsRequest(request_id=0, run="run1")]

    # A verdict that arrives during the request is requested again after the answer.
    assert book.apply_reply(VerdictsReply(request_id=1, run="run1", verdicts=[LEAK]))
    assert len(asked.messages) == 2
    book.apply_reply(VerdictsReply(request_id=2, run="run1", verdicts=[LEAK]))
    book.apply_event("run1", _ended(1), is_live=True)
    assert len(asked.messages) == 3
    assert book.get("run1", "ram") is LEAK


def test_other_runs_and_history_are_not_asked_for():
    asked = Asked()
    book = VerdictStore(asked)
    book.want("run1")
    book.apply_reply(VerdictsReply(request_id=1, run="run1"))

    book.apply_event("run2", _ended(0), is_live=True)
    book.apply_event("run1", _ended(0), is_live=False)

    assert len(asked.messages) == 1


def test_a_refused_question_is_asked_again_after_an_epoch():
    asked = Asked()
    book = VerdictStore(asked)
    book.want("run1")

    book.refuse(1)
    book.apply_event("run1", _ended(0), is_live=True)

    assert len(asked.messages) == 2


def test_an_older_verdict_replaces_no_newer_one():
    book = VerdictStore(Asked())
    older = replace(LEAK, unit=12, to_s=120.0, state="growing")

    assert book.apply_event("run1", LEAK, is_live=True)
    assert not book.apply_event("run1", older, is_live=False)

    assert book.get("run1", "ram") is LEAK
    book.forget(["run1"])
    assert book.of_run("run1") == []


def test_a_card_shows_an_alarm_on_a_line_of_its_own_with_its_forecast():
    run = made_up_run()

    picture = verdict_label(run, LEAK, now_wall_s=NOW_WALL_S)

    assert (picture.text, picture.tone, picture.is_quiet) == ("leak suspected", "crit", False)
    assert with_plain_spaces(picture.forecast) == "limit in about 14 epochs (10 to 21)"
    assert with_plain_spaces(picture.forecast_tooltip).startswith(
        "limit 80 GiB in about 14 epochs ("
    )
    steady = verdict_label(run, replace(LEAK, state="steady", forecast=None), now_wall_s=0.0)
    assert (steady.is_quiet, steady.forecast) == (True, "")
    assert verdict_label(run, None, now_wall_s=0.0) is NO_VERDICT


def test_a_run_that_has_ended_learns_nothing_and_meets_no_limit():
    run = made_up_run(state="finished")

    assert verdict_label(run, replace(LEAK, state="measuring"), now_wall_s=0.0) is NO_VERDICT
    picture = verdict_label(run, LEAK, now_wall_s=NOW_WALL_S)
    assert (picture.forecast, picture.forecast_tooltip) == ("", "")


def test_the_evidence_has_what_can_be_asked_for_as_actions():
    run = made_up_run(actions=["collect", "reload", "stop"])

    picture = evidence_state(run, LEAK, now_wall_s=NOW_WALL_S, can_request=True)

    assert picture.title == "RAM: leak suspected"
    assert picture.actions == (("collect", "Collect"), ("reload", "Reload"))
    assert picture.advice[0] == "build the model and optimizer once, outside the loop"
    assert picture.lead.startswith("Traces of models that no longer exist are retained")
    assert "Grew along with it" in picture.as_text()
    out_of_reach = evidence_state(run, LEAK, now_wall_s=NOW_WALL_S, can_request=False)
    assert out_of_reach.actions == ()
    steady = replace(LEAK, state="steady", why_not="steps", cause="")
    shown = evidence_state(run, steady, now_wall_s=NOW_WALL_S, can_request=True)
    assert (shown.actions, shown.advice) == ((), ())


def test_a_run_that_has_ended_can_be_diagnosed_next_time():
    verdict = replace(LEAK, cause="malloc", advice=["diagnose", "restart"])
    later = "diagnose the next run while it is training: kmonitor command last diagnose"

    for state, advice in (("finished", (later,)), ("training", ())):
        run = made_up_run("a", state=state, actions=["diagnose"])
        shown = evidence_state(run, verdict, now_wall_s=NOW_WALL_S, can_request=True)
        assert shown.advice == advice


def test_the_run_tree_marks_suspicions_only():
    of_all = {"ram": "suspected", "graph": "suspected", "step_time": "growing"}
    assert suspicion_text(made_up_run("c", verdicts=of_all)) == (
        "RAM: leak suspected, Graph size: growing"
    )
    book = RunStore()
    marked = made_up_run("a", verdicts={"ram": "suspected"})
    book.apply_reply(told_runs(marked, made_up_run("b", verdicts={"ram": "growing"})))

    rows = host_rows(book, search="", now_wall_s=NOW_WALL_S, is_connected=True)

    marks = {row.run: row.mark for row in rows[0].runs}
    assert marks == {"a": "RAM: leak suspected", "b": ""}
    assert "RAM: leak suspected" in next(r for r in rows[0].runs if r.run == "a").tooltip


def test_a_folded_group_shows_the_mark_of_any_of_its_ranks():
    book = RunStore()
    lead, other = (
        made_up_run(run, group="g", rank=rank, world_size=2, verdicts=verdicts)
        for rank, (run, verdicts) in enumerate([("a", {}), ("b", {"ram": "suspected"})])
    )
    book.apply_reply(told_runs(lead, other, made_up_run("c", started_wall_s=NOW_WALL_S)))

    rows = host_rows(book, search="", now_wall_s=NOW_WALL_S, is_connected=True)

    shown = next(row for row in rows[0].runs if row.run == "a")
    assert shown.mark == "RAM: leak suspected"
    assert shown.tooltip.endswith("RAM: leak suspected")


def test_what_the_script_calls_a_function_is_not_capitalised():
    retraced = replace(LEAK, cause="retracing", name="one_step")

    picture = evidence_state(made_up_run(), retraced, now_wall_s=NOW_WALL_S, can_request=True)

    assert picture.lead == "one_step is retraced repeatedly"


def _maker(**about: Any) -> ForecastBuilder:
    run = made_up_run(**about)
    store = SeriesStore()
    asked = SeriesRequest(request_id=1, run=run.run, columns=["ram_bytes", "epoch:step_time_s"])
    store.backfill(told_series(asked, run, 1))
    return ForecastBuilder(store, run, "epochs")


def test_a_forecast_starts_at_the_newest_value_and_leads_to_the_limit():
    maker = _maker()

    picture = maker.state(LEAK, "ram_bytes", 36.7)

    assert picture is not None
    assert (picture.x, picture.y) == (36.7, pytest.approx(73.4 * GIB))
    assert picture.x_meets == pytest.approx(36.7 + 14.2)
    assert picture.x_earliest == pytest.approx(36.7 + 10.4)
    assert picture.x_latest == pytest.approx(36.7 + 20.7)
    assert picture.y_at(picture.x_meets) == picture.y_at(99.0) == 80 * GIB
    assert picture.y_at(0.0) == picture.y


def test_a_limit_that_is_not_the_runs_own_is_named_where_it_is_met():
    host = replace(LEAK, forecast=LimitForecast(96 * GIB, "host", 14.2, 10.4, 20.7))

    named, own = (_maker().state(one, "ram_bytes", 36.7) for one in (host, LEAK))

    assert named is not None
    assert own is not None
    assert (with_plain_spaces(named.limit_text), own.limit_text) == ("host limit 96 GiB", "")


def test_what_is_to_come_gets_room_but_not_more_than_a_part_of_what_is_known():
    maker = _maker()

    assert maker.shown_ahead([LEAK], 36.7) == pytest.approx(1.05 * 20.7)
    late = replace(LEAK, forecast=LimitForecast(80 * GIB, "own", 30.0, 20.0, 60.0))
    assert maker.shown_ahead([late], 36.7) == pytest.approx(0.75 * 36.7)
    near = replace(LEAK, forecast=LimitForecast(80 * GIB, "own", 4.0, 3.0, 6.0))
    assert maker.shown_ahead([near], 36.7) == pytest.approx(6.3)
    far = replace(LEAK, forecast=LimitForecast(80 * GIB, "own", 900.0, 300.0))
    assert maker.shown_ahead([far], 36.7) == 0.0
    assert maker.shown_ahead([], 36.7) == 0.0


def test_a_forecast_by_fits_or_seconds_is_placed_on_the_axis():
    by_fit = replace(LEAK, per="fit", forecast=LimitForecast(80 * GIB, "own", 5.0, 4.0))
    maker = _maker(fits_done=12)

    picture = maker.state(by_fit, "ram_bytes", 36.0)

    assert picture is not None
    assert (picture.x_meets, picture.x_latest) == (pytest.approx(36.0 + 5.0 * 3.0), None)
    seconds = changed(maker, x_kind="seconds")
    assert seconds.state(by_fit, "ram_bytes", 3720.0) is None
    timed = seconds.state(LEAK, "ram_bytes", 3720.0)
    assert timed is not None
    assert timed.x_meets == pytest.approx(3720.0 + 1420.0)


def test_a_run_that_has_ended_or_is_over_its_limit_has_no_forecast():
    over = replace(LEAK, forecast=LimitForecast(1 * GIB, "own", 4.0, 3.0, 6.0))

    assert _maker(state="finished").state(LEAK, "ram_bytes", 36.7) is None
    assert _maker().state(over, "ram_bytes", 36.7) is None
    assert _maker().state(None, "ram_bytes", 36.7) is None


def test_the_window_of_the_evidence_is_placed_on_the_axis():
    begin, end = _maker().evidence(replace(LEAK, from_s=1010.0, to_s=3600.0))

    assert 9.0 < begin < 11.0
    assert 34.0 < end < 37.0


def test_card_and_evidence_tell_one_slope_with_one_unit():
    by_fit = replace(LEAK, per="fit")
    run = made_up_run(fits_done=9)

    rate = judged_rate(by_fit, RateLabel("+1.00 GiB / epoch", 1, ""))
    told = evidence_state(run, by_fit, now_wall_s=NOW_WALL_S, can_request=True).lines[0]

    assert (with_plain_spaces(rate.text), rate.direction) == ("+471 MiB / fit", 1)
    assert with_plain_spaces(told).startswith(with_plain_spaces(rate.text))
    assert rate.tooltip == told


def test_a_card_says_steady_once_and_reckons_until_something_is_judged():
    reckoned = RateLabel("steady", 0, "")

    assert judged_rate(None, reckoned) is reckoned
    assert judged_rate(replace(LEAK, state="measuring"), reckoned) is reckoned
    assert judged_rate(replace(LEAK, state="steady"), reckoned) is NO_RATE
    assert judged_rate(replace(LEAK, state="cleared"), reckoned).direction == 0


@pytest.mark.parametrize(
    ("of", "metric", "latest", "words"),
    [
        ("host", "ram", 16.4, "out of memory after about 12 more fits (8 to 17)"),
        ("cgroup", "ram", None, "out of memory after 8 more fits at the earliest"),
        ("device", "vram", 16.4, "GPU out of memory after about 12 more fits (8 to 17)"),
        ("device", "vram", None, "GPU out of memory after 8 more fits at the earliest"),
        ("own", "ram", 16.4, "limit in about 12 fits (8 to 17)"),
    ],
)
def test_a_loop_of_models_is_told_when_memory_ends(
    of: str, metric: str, latest: float | None, words: str
):
    forecast = LimitForecast(80 * GIB, of, 12.0, 8.2, latest, 60.0)  # pyright: ignore[reportArgumentType]
    by_fit = replace(LEAK, per="fit", metric=metric, forecast=forecast)
    run = made_up_run(fits_done=9)

    told = verdict_label(run, by_fit, now_wall_s=NOW_WALL_S)

    assert with_plain_spaces(told.forecast) == words
    assert with_plain_spaces(forecast_chip_text(run, by_fit, now_wall_s=NOW_WALL_S)).startswith(
        words
    )


def test_one_more_model_is_one():
    forecast = LimitForecast(80 * GIB, "host", 1.2, 0.4, 2.0)
    by_fit = replace(LEAK, per="fit", forecast=forecast)

    told = verdict_label(made_up_run(), by_fit, now_wall_s=NOW_WALL_S)

    assert told.forecast == "out of memory after about 1 more fit (0 to 2)"


def test_the_guide_explains_loops_and_only_loops():
    def heading(**changed: Any) -> str:
        verdict = replace(LEAK, **changed)
        return evidence_state(
            made_up_run(), verdict, now_wall_s=NOW_WALL_S, can_request=True
        ).guide

    assert heading(per="fit") == "models-trained-in-a-loop-in-one-process"
    assert heading() == heading(per="fit", state="steady") == ""
