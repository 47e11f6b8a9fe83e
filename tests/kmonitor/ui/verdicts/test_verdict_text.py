"""Text of verdicts."""

from typing import Literal, get_args, get_type_hints

import pytest
from msgspec.structs import replace

from kmonitor.hub.judge import detectors, growth
from kmonitor.ui.events.event_log import event_line
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor.ui.verdicts import verdict_text
from kmonitor.ui.verdicts.verdict_text import (
    advice_of,
    cause_text,
    confidence_text,
    evidence_lines,
    is_said,
    no_growth_reason,
    slope_text,
    trace_change_text,
    verdict_headline,
    verdict_log_text,
    verdict_state_text,
    verdict_tone,
)
from kmonitor_agent.wire.messages.events import (
    CorrelatedGrowth,
    KeptObjects,
    LimitForecast,
    Verdict,
)
from kmonitor_agent.wire.messages.verdict_events import MAY_BE_GARBAGE, TriedAction
from tests.support.made_up_verdicts import GIB
from tests.support.made_up_verdicts import LEAK as MADE_UP

MIB = 2.0**20
LEAK = replace(
    MADE_UP,
    t_s=400.0,
    units=40,
    unit=40,
    from_s=60.0,
    to_s=400.0,
    window=34,
    slope=8.1 * MIB,
    slope_low=7.6 * MIB,
    slope_high=8.4 * MIB,
    name="train_function",
    grew_with=[CorrelatedGrowth("retained", 2.0, 1.9, 2.1, "train_function")],
    forecast=LimitForecast(12 * GIB, "own", 14.2, 10.4, 20.7, 100.0),
)


@pytest.mark.parametrize(
    ("verdict", "words", "tone"),
    [
        (replace(LEAK, state="measuring", units=4), "measuring", "mute"),
        (replace(LEAK, state="rising", units=6), "rising", "mute"),
        (replace(LEAK, state="slowing"), "growing, but leveling off", "mute"),
        (replace(LEAK, state="steady"), "steady", "mute"),
        (replace(LEAK, state="growing"), "growing", "warn"),
        (LEAK, "leak suspected", "crit"),
        (replace(LEAK, state="cleared"), "no longer growing", "ok"),
        (replace(LEAK, metric="step_time", state="growing"), "slowing down", "warn"),
        (replace(LEAK, metric="step_time", state="cleared"), "no longer slowing down", "ok"),
        (replace(LEAK, metric="graph"), "growing", "crit"),
    ],
)
def test_each_state_has_its_words_and_tone(verdict: Verdict, words: str, tone: str):
    assert (verdict_state_text(verdict), verdict_tone(verdict)) == (words, tone)


@pytest.mark.parametrize("per", get_args(get_type_hints(Verdict)["per"]))
def test_each_kind_of_unit_has_its_words(per: str):
    verdict = replace(LEAK, per=per)

    lines = [with_plain_spaces(line) for line in evidence_lines(verdict)]

    assert lines[0].startswith(f"+8.10 MiB / {per} (95% interval")
    assert lines[0].endswith(f"over 34 {per}s")
    assert verdict_headline(verdict)


def test_units_that_are_missing_are_those_of_the_judgement():
    assert verdict_text.MIN_UNITS == growth.MIN_UNITS
    assert growth.MIN_UNITS + verdict_text.MORE_UNITS == growth.MIN_UNITS + detectors.TO_ALARM - 1


def test_measuring_says_when_more_is_known_and_no_arithmetic():
    text = verdict_headline(
        replace(LEAK, state="measuring", units=4, cause="", per="fit", unit_s=20.0)
    )

    assert with_plain_spaces(text) == "measuring: next verdict in about 2 min"


def test_what_rises_says_how_fast_and_what_was_counted():
    rises = replace(LEAK, state="rising", units=6, unit_s=10.0)

    assert with_plain_spaces(verdict_headline(rises)) == (
        "rising, not yet judged: +8.10 MiB / epoch; traces of models that no longer exist are"
        " retained (train_function); next verdict in about 1 min"
    )
    final = verdict_headline(replace(rises, cause=""), is_final=True)
    assert with_plain_spaces(final) == "rising, not judged: +8.10 MiB / epoch"


def test_what_has_been_measured_for_long_has_no_time_when_more_is_known():
    verdict = replace(LEAK, state="measuring", units=400, unit_s=0.1, cause="", slope_low=-1.0)

    assert verdict_headline(verdict) == "measuring: varies too much to judge so far"
    rises = verdict_headline(replace(verdict, slope_low=1.0))
    assert rises == "measuring: rises too unevenly to judge so far"


def test_a_rise_gets_no_new_time_once_the_announced_verdict_has_not_come():
    rising = replace(LEAK, state="rising", cause="", unit_s=1.0)

    texts = [verdict_headline(replace(rising, units=n)) for n in (13, 14, 40)]

    assert "next verdict in about" in texts[0]
    assert all(each.endswith("rises too unevenly to judge so far") for each in texts[1:])


def test_a_rise_that_may_be_garbage_is_not_called_uneven():
    rising = replace(LEAK, state="rising", cause="", unit_s=1.0, units=20)

    text = verdict_headline(replace(rising, why_not=MAY_BE_GARBAGE))

    assert text.endswith("may be garbage that Python has not collected so far; Collect shows it")


def test_a_run_that_has_ended_measures_nothing_more():
    verdict = replace(LEAK, state="measuring", units=4, cause="", per="fit")

    assert verdict_state_text(verdict, is_final=True) == "too short to judge"
    text = verdict_headline(verdict, is_final=True)
    assert with_plain_spaces(text) == "too short to judge: it ended after 4 fits"
    assert verdict_headline(LEAK, is_final=True) == verdict_headline(LEAK)
    text = verdict_headline(replace(verdict, units=30, slope_low=-1.0), is_final=True)
    assert with_plain_spaces(text) == "varies too much to judge, over 30 fits"
    text = verdict_headline(replace(verdict, units=30, slope_low=1.0), is_final=True)
    assert with_plain_spaces(text) == "rises too unevenly to judge, over 30 fits"


@pytest.mark.parametrize(
    ("why_not", "per", "reason"),
    [
        (
            "steps_differ",
            "epoch",
            "the number of steps changes; only epochs with the same number are compared",
        ),
        (
            "steps_differ",
            "fit",
            "the number of steps changes; only fits with the same number are compared",
        ),
        ("kinds_differ", "fit", "each fit has another model or batch size"),
    ],
)
def test_units_that_are_not_compared_have_a_reason(
    why_not: str, per: Literal["epoch", "fit"], reason: str
):
    verdict = replace(
        LEAK, metric="epoch_time", state="measuring", cause="", per=per, why_not=why_not, units=34
    )

    assert verdict_headline(verdict) == f"measuring: {reason}"
    assert verdict_headline(verdict, is_final=True) == f"not judged: {reason}"


def test_a_slope_has_its_interval_its_unit_and_its_window():
    assert with_plain_spaces(slope_text(LEAK)) == (
        "+8.10 MiB / epoch (95% interval 7.60 MiB to 8.40 MiB), over 34 epochs"
    )
    step = replace(LEAK, metric="step_time", slope=0.002, slope_low=-0.001, slope_high=0.003)
    assert "\u22121.00 ms to 3.00 ms" in with_plain_spaces(slope_text(step))
    assert slope_text(replace(LEAK, slope=None)) == ""


@pytest.mark.parametrize(
    ("cause", "name", "words"),
    [
        ("retained_traces", "f", "traces of models that no longer exist are retained (f)"),
        ("retained_traces", "", "traces of models that no longer exist are retained"),
        (
            "disused_traces",
            "f",
            (
                "traces that are no longer used, as of a model that was compiled again, are"
                " retained (f)"
            ),
        ),
        ("retracing", "scale", "scale is retraced repeatedly"),
        ("retracing", "", "a function is retraced repeatedly"),
        (
            "python",
            "t.py:12",
            "memory allocated by Python is not freed; most of it was allocated at t.py:12",
        ),
        ("python", "", "Python objects are kept alive"),
        ("unknown", "", "no other metric grew along with it"),
        (
            "rebuilt",
            "",
            (
                "models, optimizers or train functions are built repeatedly, and something keeps"
                " them alive"
            ),
        ),
        ("workers", "", "child processes of the training process are using more and more memory"),
        ("tensors", "", "tensors are retained: the framework's allocator is growing"),
        (
            "malloc",
            "",
            (
                "memory allocated with malloc, by arrays, long texts or bytes, or native code;"
                " kmonitor has not found what retains it"
            ),
        ),
        ("native", "", "native code retains memory allocated with malloc; Python code does not"),
        ("cache", "", "malloc retains freed memory: a cache, or fragmentation"),
        ("of a newer hub", "", ""),
    ],
)
def test_each_cause_has_its_words(cause: str, name: str, words: str):
    verdict = replace(LEAK, cause=cause, name=name)

    assert cause_text(verdict) == words
    details = "; ".join(filter(None, ["+8.10 MiB / epoch", words]))
    assert with_plain_spaces(verdict_headline(verdict)) == f"leak suspected: {details}"


@pytest.mark.parametrize("state", ["growing", "suspected", "slowing"])
@pytest.mark.parametrize("cause", ["retracing", "compiled", "rebuilt", "kept", "unknown"])
def test_growth_without_a_size_of_its_cause_has_that_of_memory(
    cause: str, state: Literal["growing", "suspected", "slowing"]
):
    grew = [
        CorrelatedGrowth("allocator_bytes", 5 * MIB, 5 * MIB, 5 * MIB),
        CorrelatedGrowth("kept_objects", 1.0, 1.0, 1.0, "Recorder.history"),
    ]
    verdict = replace(KEPT, cause=cause, state=state, grew_with=grew)

    text = with_plain_spaces(verdict_headline(verdict))

    assert text.count("MiB") == 1
    assert ": +8.10 MiB / epoch; " in text


def test_memory_that_was_given_back_may_rise_again():
    cleared = replace(LEAK, state="cleared", cause="")

    text = verdict_headline(replace(cleared, rise=-8.0 * MIB))

    assert text == "no longer growing: it has fallen back, and may rise again"
    assert verdict_headline(cleared) == "no longer growing"


def test_growth_with_a_size_of_its_cause_says_it_once():
    assert verdict_headline(KEPT).count("/ epoch") == 1
    assert "MiB" not in verdict_headline(replace(LEAK, metric="graph"))


def test_what_was_tried_is_told_with_what_it_gave_back():
    tried = [
        TriedAction("collect", 1, 0.0, 24 * MIB),
        TriedAction("reload", 3, 190 * MIB, 200 * MIB),
        TriedAction("restart", 1, 0.0),
    ]
    verdict = replace(LEAK, cause="unknown", tried=tried)

    assert with_plain_spaces(verdict_headline(verdict)) == (
        "leak suspected: +8.10 MiB / epoch; no other metric grew along with it; collect and"
        " restart did not help"
    )
    assert with_plain_spaces(evidence_lines(verdict)[-1]) == (
        "Tried: collect freed nothing of 24.0 MiB; reload freed 190 MiB of"
        " 200 MiB (the last of 3 times); restart freed nothing"
    )
    assert "did not help" not in verdict_headline(replace(verdict, tried=tried[1:2]))


@pytest.mark.parametrize(
    ("sureness", "words"),
    [
        ("counted", "Measured: it grew over the same period"),
        ("fitting", "Likely: this is the usual cause of such growth, but it is not proven here"),
        ("open", "Cause unknown"),
        ("", ""),
    ],
)
def test_each_sureness_has_its_words(sureness: str, words: str):
    assert confidence_text(replace(LEAK, sureness=sureness)) == words


def test_likely_causes_of_slower_steps_are_no_causes_of_growth():
    slower = replace(LEAK, metric="step_time", cause="clock", sureness="fitting")

    assert confidence_text(slower).startswith("Likely: it changed at the same time")
    assert confidence_text(replace(slower, sureness="open", cause="unknown")) == ""


def test_the_evidence_tells_what_grew_with_it():
    lines = [with_plain_spaces(line) for line in evidence_lines(LEAK)]

    assert lines[1] == (
        "Grew along with it: traces of models that no longer exist (train_function) +2 / epoch"
        " (1.9 \u2013 2.1)"
    )
    by_line = CorrelatedGrowth("python_bytes", 5 * MIB, 5 * MIB, 5 * MIB, "t.py:12")
    lines = evidence_lines(replace(LEAK, grew_with=[by_line]))
    assert "memory allocated by Python (t.py:12) +5.00 MiB / epoch" in with_plain_spaces(lines[1])


def test_what_grew_is_counted_in_whole_numbers_where_there_are_many():
    blocks = CorrelatedGrowth("blocks", 119_803.0, 119_801.6, 119_803.4)
    traces = CorrelatedGrowth("traces", 2.308, 2.1, 3.0, "step")
    lines = evidence_lines(replace(LEAK, grew_with=[blocks, traces]))

    assert with_plain_spaces(lines[1]) == (
        "Grew along with it: small blocks allocated by Python +119 803 / epoch"
        " (119 802 \u2013 119 803);"
        " live traces (step) +2.3 / epoch (2.1 \u2013 3)"
    )


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ("", ""),
        (
            "python",
            (
                "Between traces, no tensor changed its shape or type: a Python number or object"
                " changed, or the function was created again"
            ),
        ),
        (
            "x (8, 64) \u2192 (9, 64)",
            "Changes between traces: x (8, 64) \u2192 (9, 64)",
        ),
    ],
)
def test_the_evidence_tells_what_changed_in_the_signature(changed: str, words: str):
    verdict = replace(LEAK, cause="retracing", name="scale", changed=changed)

    assert trace_change_text(verdict) == words
    assert (words in evidence_lines(verdict)) == bool(words)


def test_a_slow_down_says_what_grew_and_does_not_call_it_a_leak():
    slow = replace(LEAK, metric="step_time", state="growing", cause="retracing", name="scale")

    assert verdict_headline(slow) == "slowing down: the number of traces of scale is growing"


def test_a_data_set_that_is_kept_is_told_beside_a_steady_verdict():
    rise = CorrelatedGrowth("first_unit", 300 * MIB, 300 * MIB, 300 * MIB)
    kept = replace(LEAK, state="steady", cause="data_cache", sureness="fitting", grew_with=[rise])

    assert verdict_headline(kept) == "steady"
    assert (
        with_plain_spaces(cause_text(kept))
        == "it rose only in the first epoch, while data was being read"
    )
    assert [with_plain_spaces(line) for line in evidence_lines(kept)][1:] == [
        "It rose by more than 300 MiB in the first epoch and has hardly risen since",
        "Probably a dataset cache; this is not proven",
    ]


def test_what_is_steady_says_why_it_is_not_growth():
    steady = replace(LEAK, state="steady", why_not="bending", grew_with=[], cause="", sureness="")

    assert evidence_lines(steady)[1:] == ["its growth is leveling off, like that of a cache"]
    for code in ("too_small", "no_trend", "steps", "slowing", "stopped"):
        assert no_growth_reason(replace(steady, why_not=code))


def test_advice_is_an_action_where_there_is_one():
    advice = advice_of(LEAK)

    assert [(one.text, one.command) for one in advice] == [
        ("Collect", "collect"),
        ("Reload", "reload"),
        ("Restart", "restart"),
        ("build the model and optimizer once, outside the loop", None),
        ("train each model in its own process: kmonitor_agent.run_folds()", None),
    ]
    codes = ["tensors_not_numbers", "function_once", "one_shape", "diagnose", "of a newer hub"]
    tensors = replace(LEAK, name="scale", advice=codes)
    alike = "and the same Python objects each time"
    assert [(one.text, one.command) for one in advice_of(tensors)] == [
        (f"pass tensors instead of Python numbers to scale, {alike}", None),
        ("create scale once, outside the loop", None),
        (
            (
                "always pass scale batches of the same shape, or give it an input_signature with"
                " None for the dimensions that vary"
            ),
            None,
        ),
        ("Diagnose", "diagnose"),
    ]


def test_the_log_tells_turns_of_what_grows_and_what_no_longer_does():
    line = event_line(LEAK, name="run")
    cleared = event_line(replace(LEAK, state="cleared", cause=""), name="run")

    assert line is not None
    assert line.level == "warning"
    text = with_plain_spaces(line.text)
    assert text.startswith("RAM: leak suspected: +8.10 MiB / epoch; traces of models")
    assert cleared is not None
    assert (cleared.level, cleared.text) == ("info", "RAM: no longer growing")
    assert event_line(replace(LEAK, turned=False), name="run") is None
    assert event_line(replace(LEAK, state="steady"), name="run") is None


def test_epoch_or_fit_of_a_verdict_is_said_on_request():
    texts = [
        verdict_log_text(replace(each, cause="", state="growing", slope=None), has_unit=True)
        for each in (LEAK, replace(LEAK, per="fit"), replace(LEAK, per="step"))
    ]

    assert texts == ["RAM after epoch 40: growing", "RAM after fit 40: growing", "RAM: growing"]


KEPT = replace(
    LEAK,
    cause="kept",
    sureness="counted",
    name="",
    grew_with=[CorrelatedGrowth("kept_bytes", 12 * MIB, 12 * MIB, 12 * MIB, "Recorder.history")],
    kept=KeptObjects(
        kind="numpy.ndarray",
        count=80,
        n_bytes=120 * MIB,
        shape="(32, 1000)",
        dtype="float32",
        container="list",
        place="Recorder.history",
    ),
    advice=["keep_numbers", "restart"],
)


def test_no_part_of_an_object_is_said_to_be_kept():
    grew = [CorrelatedGrowth("kept_bytes", 1.43 * MIB, MIB, 2 * MIB, "Recorder.history")]

    text = with_plain_spaces(cause_text(replace(KEPT, grew_with=grew)))

    assert "+1.43 MiB / epoch (1 \u00d7 1.5 MiB)" in text


def test_what_the_script_keeps_is_named_with_its_place_and_size():
    text = with_plain_spaces(cause_text(KEPT))

    assert text == (
        "NumPy arrays of (32, 1000) float32 are retained in Recorder.history (list): +12.0 MiB /"
        " epoch (8 \u00d7 1.5 MiB)"
    )


def test_items_that_hold_arrays_beside_others_are_not_called_arrays():
    assert KEPT.kept is not None

    text = cause_text(replace(KEPT, kept=replace(KEPT.kept, is_part=True)))

    assert with_plain_spaces(text).startswith(
        "items with NumPy arrays of (32, 1000) float32 among what they hold are retained in"
    )


def test_a_count_says_that_its_window_is_the_last():
    threads = replace(LEAK, metric="threads", slope=1.0, slope_low=1.0, slope_high=1.0, window=9)

    assert with_plain_spaces(slope_text(threads)) == "+1.00 / epoch, over the last 9 epochs"


def test_a_callback_that_takes_long_as_ever_may_be_wanted():
    steady = replace(
        LEAK, metric="epoch_time", state="steady", cause="part", where="callbacks", name="Pace"
    )

    (steady_advice,) = advice_of(replace(steady, advice=["each_nth"]))
    (slower_advice,) = advice_of(replace(steady, state="growing", advice=["each_nth"]))

    assert steady_advice.text.startswith("if that is more than you want, run Pace less often")
    assert slower_advice.text.startswith("run Pace less often")


def test_history_objects_of_known_size_share_their_model():
    assert KEPT.kept is not None
    kept = replace(KEPT.kept, kind="keras.History", shape="", dtype="")

    assert cause_text(replace(KEPT, kept=kept)).startswith("History objects are retained in")


def test_advice_on_figures_in_a_list_names_the_list():
    (advice,) = advice_of(replace(KEPT, advice=["drop_figures"]))

    assert "remove it from Recorder.history" in advice.text


def test_views_say_that_they_keep_a_larger_array():
    assert KEPT.kept is not None

    text = cause_text(replace(KEPT, kept=replace(KEPT.kept, base="(1200, 1000)")))

    assert with_plain_spaces(text).startswith(
        "NumPy arrays of (32, 1000) float32, views that each keep a larger one of (1200, 1000)"
        " alive, are retained in Recorder.history"
    )


def test_objects_of_which_a_step_keeps_less_than_one_say_their_size():
    grew = [CorrelatedGrowth("kept_bytes", MIB / 2, MIB / 2, MIB / 2, "Recorder.history")]

    text = with_plain_spaces(cause_text(replace(KEPT, per="step", slope=MIB / 2, grew_with=grew)))

    assert text.endswith("(list): +512 KiB / step (1.5 MiB each)")


@pytest.mark.parametrize(
    ("cause", "kind", "text"),
    [
        ("python", "python_bytes", "Python objects are kept alive: +12.0 MiB / epoch"),
        ("native", "native_bytes", "Python code does not: +12.0 MiB / epoch"),
        ("tensors", "allocator_bytes", "allocator is growing: +12.0 MiB / epoch"),
        ("cache", "free_bytes", "a cache, or fragmentation: +12.0 MiB / epoch"),
    ],
)
def test_each_cause_of_bytes_says_how_many_a_unit_adds(cause: str, kind: str, text: str):
    grew = [CorrelatedGrowth(kind, 12 * MIB, 12 * MIB, 12 * MIB)]

    said = cause_text(replace(KEPT, cause=cause, kept=None, grew_with=grew))

    assert with_plain_spaces(said).endswith(text)


@pytest.mark.parametrize(
    ("container", "text"),
    [
        ("attributes", "are retained in Recorder.history (attributes): +12.0 MiB"),
        ("linked Node", "are retained in Recorder.history (linked Node objects): +12.0 MiB"),
        ("subclasses", "classes that derive from Recorder.history are retained: +12.0 MiB"),
    ],
)
def test_series_without_a_container_are_described(container: str, text: str):
    assert KEPT.kept is not None
    kept = replace(KEPT.kept, container=container)

    assert text in with_plain_spaces(cause_text(replace(KEPT, kept=kept)))


@pytest.mark.parametrize(
    ("container", "text"),
    [
        ("functools.lru_cache", "a cache is filling: 80 of 100 results in Recorder.history"),
        ("deque", "a deque is filling: 80 of 100 objects in Recorder.history"),
        ("HistoryDeque", "Recorder.history is filling: 80 of 100 objects"),
        ("rows", "Recorder.history is filling: 80 of 100 rows"),
    ],
)
def test_a_place_that_fills_says_where_it_ends(container: str, text: str):
    assert KEPT.kept is not None
    kept = replace(KEPT.kept, container=container, capacity=100)

    said = with_plain_spaces(cause_text(replace(KEPT, cause="filling", kept=kept)))

    assert said == f"{text}, it will end at about 150 MiB"


def test_a_buffer_that_fills_again_says_at_which_size_it_was_emptied():
    assert KEPT.kept is not None
    kept = replace(KEPT.kept, capacity=100)

    text = cause_text(replace(KEPT, cause="buffer", kept=kept))

    assert text == "Recorder.history is a buffer: 80 objects now, it was emptied at 100"


def test_all_places_that_grow_are_named():
    grew = [
        CorrelatedGrowth("kept_bytes", 9 * MIB, 9 * MIB, 9 * MIB, "Recorder.history"),
        CorrelatedGrowth("kept_bytes", 3 * MIB, 3 * MIB, 3 * MIB, "train.later"),
    ]

    text = with_plain_spaces(cause_text(replace(KEPT, slope=12 * MIB, grew_with=grew)))

    assert text.endswith(
        "(list): +9.00 MiB / epoch (6 \u00d7 1.5 MiB); train.later: +3.00 MiB / epoch"
    )


@pytest.mark.parametrize(("slope", "is_said"), [(14 * MIB, False), (20 * MIB, True)])
def test_a_cause_of_a_part_of_the_growth_says_how_much_it_explains(slope: float, is_said: bool):  # noqa: FBT001
    text = with_plain_spaces(cause_text(replace(KEPT, slope=slope)))

    assert text.endswith("1.5 MiB); this explains 60% of the growth") is is_said


def test_a_place_that_keeps_traced_functions_is_named():
    kept = KeptObjects("tf.function", 20, container="list", place="train.probes")
    grew = [CorrelatedGrowth("kept_objects", 2.0, 2.0, 2.0, "train.probes")]

    text = cause_text(replace(KEPT, cause="retracing", name="probe", kept=kept, grew_with=grew))

    assert text == (
        "probe is retraced repeatedly; tf.function objects are retained in train.probes (list):"
        " +2 / epoch"
    )


def test_an_array_that_grows_is_named_by_its_attribute():
    assert KEPT.kept is not None
    kept = replace(KEPT.kept, count=1, container="")

    text = with_plain_spaces(cause_text(replace(KEPT, kept=kept)))

    assert text.startswith("Recorder.history is growing: NumPy arrays of (32, 1000) float32")


def test_figures_are_counted_and_not_weighed():
    kept = KeptObjects("matplotlib.Figure", 14, None, place="matplotlib.pyplot")
    grew = [CorrelatedGrowth("kept_objects", 1.0, 1.0, 1.0, "matplotlib.pyplot")]

    text = cause_text(replace(KEPT, kept=kept, grew_with=grew))

    assert with_plain_spaces(text) == (
        "figures are retained in pyplot, which retains each figure that is not closed: +1 / epoch"
        " (size not known)"
    )


@pytest.mark.parametrize(
    ("kept", "text"),
    [
        (
            KeptObjects("function", 8, place="atexit"),
            "functions and their closures are retained in atexit, which calls them at the exit",
        ),
        (
            KeptObjects("function", 8, place="keras.saving.get_custom_objects"),
            "functions and their closures are retained in Keras' registry of custom objects",
        ),
        (
            KeptObjects("sqlite3.memory", 1, place="sqlite3"),
            "databases in memory or their caches are retained in SQLite",
        ),
        (
            KeptObjects("numpy.memmap", 8, container="x.npy", place="train.x"),
            "pages of train.x that were written to are copies of those of x.npy",
        ),
    ],
)
def test_what_libraries_and_the_kernel_keep_is_described(kept: KeptObjects, text: str):
    grew = [CorrelatedGrowth("kept_objects", 1.0, 1.0, 1.0, kept.place)]

    found = with_plain_spaces(cause_text(replace(KEPT, kept=kept, grew_with=grew)))

    assert found.startswith(text)
    assert found.endswith(": +1 / epoch (size not known)")


def test_tasks_that_never_end_are_kept_by_asyncio():
    kept = KeptObjects("asyncio.Task", 8, 16 * MIB, "", "", "set", "asyncio.all_tasks")
    grew = [CorrelatedGrowth("kept_bytes", 2 * MIB, 2 * MIB, 2 * MIB, "asyncio.all_tasks")]

    text = cause_text(replace(KEPT, kept=kept, grew_with=grew, slope=2 * MIB))

    assert with_plain_spaces(text) == (
        "asyncio.Task objects are retained in asyncio, as tasks that have not ended:"
        " +2.00 MiB / epoch (1 \u00d7 2.0 MiB)"
    )


def test_who_keeps_models_is_said_where_models_are_built_anew():
    kept = KeptObjects("keras.History", 9, None, container="list", place="train.runs")

    grew = [
        CorrelatedGrowth("allocator_bytes", 12 * MIB, 12 * MIB, 12 * MIB),
        CorrelatedGrowth("kept_objects", 1.0, 1.0, 1.0, "train.runs"),
    ]

    text = cause_text(replace(KEPT, cause="rebuilt", kept=kept, grew_with=grew))

    assert with_plain_spaces(text) == (
        "models or optimizers are being built again and again; History objects, each with its"
        " model, are retained in train.runs (list): +1 / epoch"
    )


@pytest.mark.parametrize(
    "code",
    [
        "float_of_loss",
        "keep_numbers",
        "keep_less",
        "copy_views",
        "reset_out",
        "clear_last",
        "close_figures",
        "drop_figures",
        "drop_models",
        "drop_iterators",
        "small_logs",
        "dataset_once",
        "one_dataset",
        "history_dict",
        "limit_cache",
        "limit_calls",
        "unsubscribe",
        "limit_queue",
        "copy_part",
        "register_once",
        "exit_once",
        "database_in_file",
        "find_holder",
        "look_at_line",
        "bisect",
        "other_malloc",
        "enable_collector",
        "check_child",
    ],
)
def test_each_remedy_for_what_is_kept_is_a_change_of_the_script(code: str):
    (advice,) = advice_of(replace(KEPT, advice=[code]))

    assert advice.command is None
    assert len(advice.text) > 10


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("validation", "92% of it happens in validation"),
        ("between_epochs", "from on_epoch_end of MonitorCallback to its next on_epoch_begin"),
        ("between_fits", "between fits or while a fit starts: in the script or in Keras"),
    ],
)
def test_evidence_says_where_in_a_unit_memory_grows(where: str, words: str):
    at_known_place = replace(KEPT, where=where, where_part=0.92)
    grows = replace(at_known_place, cause="unknown", kept=None)

    assert any(words in with_plain_spaces(line) for line in evidence_lines(grows))
    assert not any(words in with_plain_spaces(each) for each in evidence_lines(at_known_place))


def test_growth_within_epochs_is_said_where_no_place_is_known():
    within = (
        "It happens within epochs, not between them: in steps, validation, or callbacks,"
        " except on_epoch_end of those after MonitorCallback"
    )
    named = replace(KEPT, where="steps", where_part=1.0)

    assert within in evidence_lines(replace(named, cause="unknown", kept=None))
    assert within not in evidence_lines(named)


def test_evidence_is_silent_where_growth_comes_in_several_parts():
    assert not any("of it happens" in line for line in evidence_lines(KEPT))


def test_a_few_more_threads_are_nothing_unless_their_limit_is_near():
    far = LimitForecast(limit=32_000.0, of="system", units=27_000.0, earliest=20_000.0)
    rising = replace(LEAK, metric="threads", state="rising", units=12, forecast=far)

    assert not is_said(rising)
    assert is_said(replace(rising, forecast=replace(far, units=40.0, earliest=30.0)))
    assert is_said(replace(rising, state="growing"))
    assert not is_said(replace(rising, forecast=None))
