"""Escalation: which level comes next, which is left out, and when nothing more helps."""

import pytest

from kmonitor_agent.limit_watch import LEVELS, Escalation, EscalationLevel


@pytest.fixture
def escalation() -> Escalation:
    return Escalation(cooldown_s=60.0)


def test_levels_follow_each_other_and_then_nothing_helps(escalation: Escalation):
    steps = [escalation.next_step({}, t_s) for t_s in (0.0, 0.0, 1.0, 2.0)]

    assert steps == ["collect", "reload", "restart", "nothing"]
    assert escalation.is_over
    assert escalation.summary() == "collect and reload and restart did not help"


@pytest.mark.parametrize("missing", LEVELS)
def test_level_that_cannot_be_done_is_passed_over_and_named(
    escalation: Escalation, missing: EscalationLevel
):
    steps = [escalation.next_step({missing: "not here"}, 0.0) for _ in LEVELS]

    assert steps == [*(level for level in LEVELS if level != missing), "nothing"]
    assert escalation.summary().endswith(f"did not help; {missing} skipped: not here")


def test_where_no_level_can_be_done_nothing_helps_at_once(escalation: Escalation):
    assert escalation.next_step(dict.fromkeys(LEVELS, "no"), 0.0) == "nothing"
    assert escalation.summary() == ("collect skipped: no; reload skipped: no; restart skipped: no")


def test_no_level_is_done_twice_within_its_cooldown(escalation: Escalation):
    assert escalation.next_step({}, 0.0) == "collect"
    escalation.reset()

    assert not escalation.is_due(59.0)
    assert escalation.next_step({}, 59.0) == "wait"
    assert escalation.is_due(60.0)
    assert escalation.next_step({}, 60.0) == "collect"


def test_second_level_is_not_held_up_by_the_first_one_s_cooldown(escalation: Escalation):
    escalation.next_step({}, 0.0)

    assert escalation.is_due(0.0)
    assert escalation.next_step({}, 0.0) == "reload"


def test_second_level_keeps_its_own_cooldown_over_a_release(escalation: Escalation):
    for t_s in (0.0, 30.0):
        escalation.next_step({}, t_s)
    escalation.reset()

    steps = [escalation.next_step({}, t_s) for t_s in (60.0, 61.0, 90.0)]

    assert steps == ["collect", "wait", "reload"]


def test_after_nothing_helped_the_next_attempt_begins_with_the_first_level(
    escalation: Escalation,
):
    for _ in range(4):
        escalation.next_step({}, 0.0)

    assert escalation.next_step({}, 100.0) == "collect"
    assert not escalation.is_over


def test_process_that_was_just_started_again_is_not_left_again_at_once(escalation: Escalation):
    escalation.started_again(0.0)

    steps = [escalation.next_step({}, 10.0) for _ in range(3)]

    assert steps == ["collect", "reload", "nothing"]
    assert (
        "restart skipped: the limit was exceeded again within its cooldown" in escalation.summary()
    )


def test_process_that_was_started_again_long_ago_may_be_left_again(escalation: Escalation):
    escalation.started_again(0.0)

    assert [escalation.next_step({}, 70.0) for _ in range(3)] == ["collect", "reload", "restart"]


def test_step_may_always_be_asked_for_once_all_levels_were_tried(escalation: Escalation):
    for _ in LEVELS:
        escalation.next_step({}, 0.0)

    assert escalation.is_due(0.0)


def test_what_gave_nothing_back_is_remembered_over_resets_and_restarts():
    first = Escalation(cooldown_s=60.0)
    first.note_outcome("collect", "other", gave_back=False)
    first.note_outcome("reload", "other", gave_back=False)
    first.note_outcome("reload", "other", gave_back=True)
    first.reset()

    assert first.futile("other") == ["collect"]
    second = Escalation(cooldown_s=60.0)
    second.started_again(0.0, first.remembered)
    assert second.futile("other") == ["collect"]
    why_not = dict.fromkeys(second.futile("other"), "it freed nothing last time")
    assert second.next_step(why_not, 100.0) == "reload"
    assert "collect skipped: it freed nothing last time" in second.summary()


def test_what_helped_against_nothing_may_help_against_traces_of_models_that_are_gone():
    escalation = Escalation(cooldown_s=60.0)
    escalation.note_outcome("collect", "other", gave_back=False)

    assert escalation.futile("traces") == []
    escalation.note_outcome("collect", "traces", gave_back=False)
    assert escalation.futile("traces") == ["collect"]
