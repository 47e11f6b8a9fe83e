from typing import Any

import pytest

from kmonitor.ui.actions.action_panel import (
    ActionPanelState,
    action_panel_state,
    command_status_text,
    confirm_stop,
    confirmation_before,
)
from kmonitor.ui.limits.limit_actions import limit_action_choices, limit_actions_state
from kmonitor.ui.limits.limit_store import LimitStore, metric_reading, round_threshold
from kmonitor.ui.limits.limit_text import limit_summary, threshold_value
from kmonitor.ui.runs.sent_commands import CommandStore
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.commands import (
    CommandName,
    CommandStatus,
    LimitAction,
    LimitSpec,
    SetLimits,
)
from kmonitor_agent.wire.messages.unions import (
    CommandReply,
    CommandRequest,
    ErrorMessage,
    MetricReading,
    RunSummary,
)
from tests.support.made_up_runs import GIB, NOW_WALL_S, limit, made_up_run
from tests.support.questions_asked import QuestionsAsked


class Desks:
    """Commands and limits that share one hub."""

    def __init__(self) -> None:
        self.hub = QuestionsAsked()
        self.commands = CommandStore(self.hub.ask, requester="tester")
        self.limits = LimitStore(self.commands, user="tester")

    def asked(self) -> list[CommandRequest]:
        return [message for _, message in self.hub.of_type(CommandRequest)]

    def new_limits(self) -> list[LimitSpec]:
        args = self.asked()[-1].args
        assert isinstance(args, SetLimits)
        return args.limits

    def tell(self, state: str, why: str = "") -> None:
        last = self.asked()[-1]
        status = CommandStatus(id=last.id, run=last.run, name=last.name, state=state, why=why)  # type: ignore[arg-type]
        news = self.commands.apply_reply(CommandReply(request_id=1, status=status))
        if news is not None:
            self.limits.ended(news)

    def panel(self, run: RunSummary, *, is_connected: bool = True) -> ActionPanelState:
        return action_panel_state(
            run,
            commands=self.commands,
            limits=self.limits,
            now_wall_s=NOW_WALL_S,
            is_connected=is_connected,
        )


@pytest.fixture
def desks() -> Desks:
    return Desks()


def test_an_action_without_a_neighbour_is_as_wide_as_the_others(desks: Desks):
    for more, halves in (
        (("collect", "auto"), ["collect", "auto"]),
        (("collect", "auto", "diagnose"), ["collect", "auto"]),
        (("diagnose",), []),
    ):
        panel = desks.panel(made_up_run(actions=["save", "reload", "pause", "stop", *more]))
        assert [button.command for button in panel.buttons if button.is_half] == halves


def test_nothing_is_asked_of_a_run_that_is_only_looked_at_and_it_is_said_why(desks: Desks):
    for run, why in (
        (made_up_run(actions=[], is_shipped=True), "read from a folder"),
        (made_up_run(actions=[], is_elsewhere=True), "another of the team's hubs"),
        (made_up_run(actions=[]), "commands=False"),
    ):
        assert why in desks.panel(run).why_not


def test_a_command_goes_to_the_runs_newest_process_and_is_followed(desks: Desks):
    command = desks.commands.send(made_up_run(), "reload")

    asked = desks.asked()[0]
    assert (asked.run, asked.session, asked.name, asked.requested_by) == (
        "run1",
        "session1",
        "reload",
        "tester",
    )
    assert [c.state for c in desks.commands.open_for("run1")] == ["queued"]
    desks.tell("started")
    kept = desks.commands.get(command)
    assert kept is not None
    assert kept.state == "started"
    desks.tell("done")
    assert desks.commands.open_for("run1") == []


def test_news_of_strangers_and_repeats_are_no_news(desks: Desks):
    desks.commands.send(made_up_run(), "save")
    stranger = CommandStatus(id="other", run="run1", name="save", state="done")
    assert desks.commands.apply_reply(CommandReply(request_id=1, status=stranger)) is None
    same = CommandStatus(id=desks.asked()[0].id, run="run1", name="save", state="queued")
    assert desks.commands.apply_reply(CommandReply(request_id=1, status=same)) is None


def test_a_refused_question_ends_the_command_unless_the_hub_is_only_busy(desks: Desks):
    desks.commands.send(made_up_run(), "save")

    assert desks.commands.refuse(ErrorMessage(code="busy", text="later", request_id=1)) is None
    assert desks.commands.refuse(ErrorMessage(code="invalid", text="no", request_id=9)) is None
    refused = desks.commands.refuse(ErrorMessage(code="not_found", text="gone", request_id=1))

    assert refused is not None
    assert (refused.state, refused.why) == ("refused", "gone")


def test_a_placed_limit_is_pending_until_the_process_confirms_it(desks: Desks):
    run = made_up_run()
    assert desks.limits.line(run, "ram") is None

    desks.limits.request_value(run, "ram", 72.318 * GIB)

    line = desks.limits.line(run, "ram")
    assert line is not None
    assert line.is_pending
    assert with_plain_spaces(line.text) == "limit 72.3 GiB, reload · requested"
    assert desks.new_limits()[0].set_by == "tester"
    assert desks.limits.has_pending("run1")
    confirmed = made_up_run(limits=desks.new_limits())
    desks.limits.drop_confirmed(confirmed)
    line = desks.limits.line(confirmed, "ram")
    assert line is not None
    assert not line.is_pending


def test_a_refused_limit_goes_back_to_what_was(desks: Desks):
    run = made_up_run(limits=[limit()])
    desks.limits.request_value(run, "ram", 50 * GIB)
    desks.tell("started")
    assert desks.limits.has_pending("run1")

    desks.tell("failed", "no")

    line = desks.limits.line(run, "ram")
    assert line is not None
    assert line.value == 128 * GIB


def test_moving_a_limit_keeps_its_action_and_the_other_limits_of_its_metric(desks: Desks):
    weak = limit(value=60 * GIB, action="notify")
    run = made_up_run(limits=[weak, limit(action="stop", hold_s=5.0, cooldown_s=9.0)])

    desks.limits.request_value(run, "ram", 100 * GIB)

    kept, moved = desks.new_limits()
    assert kept == weak
    assert (moved.action, moved.hold_s, moved.cooldown_s) == ("stop", 5.0, 9.0)
    assert desks.asked()[0].args.metrics == ["ram"]  # type: ignore[union-attr]


def test_a_removed_limit_is_asked_away_and_shown_as_gone(desks: Desks):
    run = made_up_run(limits=[limit()])

    desks.limits.remove(run, "ram")

    assert desks.new_limits() == []
    assert desks.limits.line(run, "ram") is None
    desks.limits.drop_confirmed(run)
    assert desks.limits.has_pending("run1")
    desks.limits.drop_confirmed(made_up_run())
    assert not desks.limits.has_pending("run1")


def test_who_can_set_no_limit_is_not_told_to_drag_one(desks: Desks):
    run = made_up_run(limits=[])

    assert "Drag the dotted line" in limit_actions_state(run, desks.limits, "").outcome_text
    looking_on = limit_actions_state(run, desks.limits, "your key is a viewer's")
    assert looking_on.outcome_text == "No limit is set."


def test_without_reload_a_new_limit_only_tells(desks: Desks):
    desks.limits.request_value(made_up_run(actions=["set_limits"]), "graph", 1234.4)
    assert desks.new_limits()[0] == LimitSpec(
        metric="graph", value=1230.0, action="notify", set_by="tester"
    )


def test_the_switch_changes_limits_in_force_and_those_to_come(desks: Desks):
    vram = LimitSpec(metric="vram", fraction=0.9, action="stop")
    run = made_up_run(limits=[limit(), vram])

    desks.limits.reload_at_limits(run, on=False)

    assert [lim.action for lim in desks.new_limits()] == ["notify", "stop"]
    assert not desks.panel(run).at_limit.is_on
    desks.limits.reload_at_limits(made_up_run(limits=[limit()]), on=True)
    desks.limits.reload_at_limits(None, on=True)
    desks.limits.reload_at_limits(made_up_run(), on=True)
    assert len(desks.asked()) == 1
    assert desks.limits.reloads


def test_parts_of_something_unknown_are_not_drawn(desks: Desks):
    part = LimitSpec(metric="ram", fraction=0.5, action="reload")
    known = made_up_run(limits=[part])
    unknown = made_up_run(limits=[part], ram=MetricReading(value=1.0))

    line = desks.limits.line(known, "ram")
    assert line is not None
    assert line.value == 96 * GIB
    assert desks.limits.line(unknown, "ram") is None
    assert threshold_value(part, None) is None
    assert with_plain_spaces(limit_summary(part)) == "RAM 50%, reload"
    assert "tells you" not in desks.panel(unknown).at_limit.outcome_text


def test_thresholds_are_rounded_as_they_are_shown():
    assert round_threshold("ram", 72.3187 * GIB) == pytest.approx(72.3 * GIB)
    assert round_threshold("step_time", 0.27261) == pytest.approx(0.273)
    assert round_threshold("graph", 24374.0) == 24400.0
    assert round_threshold("ram", 0.0) == 0.0
    assert round_threshold("ram", 12.0) == 12.0


def test_each_metric_has_its_last_reading():
    run = made_up_run()
    assert metric_reading(run, "vram") is run.vram
    assert metric_reading(run, "step_time") is run.step_time
    assert metric_reading(run, "graph") is run.graph
    assert metric_reading(run, "functions").value is None


def test_a_living_run_offers_all_actions_with_their_keys(desks: Desks):
    panel = desks.panel(made_up_run())

    assert [(b.command, b.shortcut, b.kind) for b in panel.buttons] == [
        ("save", "Ctrl+S", "plain"),
        ("reload", "Ctrl+R", "primary"),
        ("collect", "Ctrl+Shift+C", "plain"),
        ("pause", "Ctrl+P", "plain"),
        ("stop", "Ctrl+.", "danger"),
    ]
    assert all(b.is_enabled for b in panel.buttons)
    assert (
        with_plain_spaces(panel.checkpoint)
        == "Last checkpoint: epoch 36 · 4 min ago · state 312 MiB"
    )
    assert desks.panel(made_up_run(state="paused")).buttons[3].command == "resume"


def test_what_not_every_process_can_is_offered_only_where_it_is_possible(desks: Desks):
    everything = [*made_up_run().actions, "restart", "auto", "diagnose"]
    panel = desks.panel(made_up_run(actions=everything))
    half = [button for button in panel.buttons if button.is_half]

    assert [button.command for button in half] == ["collect", "auto", "restart", "diagnose"]
    assert [button.title for button in half] == ["Collect", "Auto", "Restart", "Diagnose"]
    assert all(button.is_enabled and button.shortcut in button.tooltip for button in half)
    ended = desks.panel(made_up_run(state="lost", actions=[]))
    assert [b.command for b in ended.buttons] == ["save", "reload", "pause", "stop"]


def test_what_ends_the_process_is_asked_back_with_what_is_kept():
    plain = made_up_run()
    supervised = made_up_run(actions=["auto", "restart"])

    ask = confirmation_before(supervised, "restart")
    assert ask is not None
    question = ask()
    assert question is not None
    assert "Weights, optimizer, history and random state are kept" in question.text
    assert question.text.count(".") == 2
    assert supervised.name in question.title
    ask = confirmation_before(plain, "stop")
    assert ask is not None
    assert ask() == confirm_stop(plain)
    for name in ("auto", "collect", "reload", "diagnose", "save"):
        assert confirmation_before(supervised, name) is None


def test_a_command_is_followed_to_its_end_or_why_it_failed(desks: Desks):
    run = made_up_run(actions=["diagnose"])
    assert command_status_text(run, desks.commands, "diagnose") == ""
    desks.commands.send(run, "diagnose")
    assert command_status_text(run, desks.commands, "diagnose") == "Diagnose: requested"
    assert command_status_text(run, desks.commands, "save") == ""
    desks.tell("started")
    assert command_status_text(run, desks.commands, "diagnose") == "Diagnose: running"
    desks.tell("done")
    assert command_status_text(run, desks.commands, "diagnose") == ""
    desks.commands.send(run, "diagnose")
    desks.tell("failed")
    assert command_status_text(run, desks.commands, "diagnose").startswith(
        "Diagnose was not performed: "
    )


def test_a_limit_can_do_what_the_process_can(desks: Desks):
    def actions(*possible: CommandName, **changed: Any) -> list[str]:
        run = made_up_run(actions=list(possible), limits=[limit(**changed)])
        return [choice.action for choice in limit_action_choices(run, "ram")]

    assert actions("collect", "reload", "stop") == ["notify", "collect", "reload", "stop"]
    assert actions("save", "auto", "restart", action="auto") == [
        "notify",
        "save",
        "auto",
        "restart",
    ]
    assert actions(action="stop") == ["notify", "stop"]
    assert limit_action_choices(made_up_run(), "ram") == ()
    chosen = limit_action_choices(made_up_run(limits=[limit(action="collect")]), "ram")
    assert [choice.action for choice in chosen if choice.is_chosen] == ["collect"]
    assert len({choice.title for choice in chosen}) == len(chosen)


def test_a_limits_action_is_changed_and_it_stays_where_it_is(desks: Desks):
    run = made_up_run(limits=[limit(hold_s=3.0), limit("graph", 9.0)])
    desks.limits.change_action(run, "ram", "collect")
    desks.limits.change_action(run, "ram", "reload")
    desks.limits.change_action(made_up_run(), "ram", "collect")

    assert len(desks.asked()) == 1
    (new,) = desks.new_limits()
    assert (new.action, new.value, new.hold_s) == ("collect", limit().value, 3.0)


def test_another_answer_changes_the_limits_that_gave_the_one_before(desks: Desks):
    run = made_up_run(
        actions=["collect", "auto", "reload", "set_limits"],
        limits=[limit(), limit("graph", 9.0, action="stop"), limit("vram", 9.0, action="notify")],
    )
    desks.limits.answer_with(run, "auto")

    assert [(each.metric, each.action) for each in desks.new_limits()] == [
        ("ram", "auto"),
        ("graph", "stop"),
        ("vram", "auto"),
    ]
    assert (desks.limits.reloads, desks.limits.answer) == (True, "auto")
    desks.limits.request_value(made_up_run("run2", actions=["auto", "set_limits"]), "ram", 1e9)
    assert desks.new_limits()[0].action == "auto"
    desks.limits.request_value(made_up_run("run3"), "ram", 1e9)
    assert desks.new_limits()[0].action == "reload"


@pytest.mark.parametrize(
    ("action", "title", "words"),
    [
        ("collect", "Collect automatically", "kmonitor collects"),
        ("reload", "Reload automatically", "saves, clears and reloads"),
        ("auto", "Reclaim automatically", "collects, then reloads, as needed"),
        ("restart", "Restart automatically", "restarts in a new process"),
    ],
)
def test_the_switch_names_what_limits_do(
    desks: Desks, action: LimitAction, title: str, words: str
):
    run = made_up_run(actions=[action, "set_limits"], limits=[limit(action=action)])
    picture = desks.panel(run).at_limit
    assert (picture.title, picture.is_on) == (title, True)
    assert words in picture.outcome_text
    desks.limits.answer = action
    offered = desks.panel(made_up_run(actions=[action, "set_limits"])).at_limit
    assert offered.title == title
    assert f"when it is exceeded, {'training' if action == 'restart' else 'kmonitor'}" in (
        offered.outcome_text
    )


def test_reclaim_names_a_restart_only_where_there_can_be_one(desks: Desks):
    run = made_up_run(actions=["auto", "restart", "reload"], limits=[limit(action="auto")])

    assert "then restarts" in desks.panel(run).at_limit.outcome_text
    assert [choice.action for choice in desks.panel(run).at_limit.choices] == [
        "reload",
        "auto",
        "restart",
    ]


@pytest.mark.parametrize(
    ("changed", "is_connected", "reason"),
    [
        ({"state": "finished"}, True, "The run has ended (finished)"),
        ({}, False, "Not connected to the hub"),
        ({"actions": []}, True, "commands=False"),
        ({"actions": ["pause"]}, True, "Not possible in this process."),
    ],
)
def test_what_is_not_possible_says_why(
    desks: Desks,
    changed: dict[str, Any],
    is_connected: bool,  # noqa: FBT001 - a parameter of the table
    reason: str,
):
    panel = desks.panel(made_up_run(**changed), is_connected=is_connected)

    assert not panel.buttons[0].is_enabled
    assert reason in panel.buttons[0].tooltip
    assert not panel.at_limit.is_enabled


def test_an_asked_action_waits_visibly_for_its_safe_point(desks: Desks):
    run = made_up_run()
    desks.commands.send(run, "reload")
    assert desks.panel(run).waiting == "Save + Clear + Reload: requested"
    assert "Already requested" in desks.panel(run).buttons[1].tooltip
    desks.tell("received")
    assert desks.panel(run).waiting == "Save + Clear + Reload: waiting for the end of epoch 37"
    desks.tell("started")
    assert desks.panel(run).waiting == "Save + Clear + Reload: running"
    desks.tell("done")
    assert desks.panel(run).waiting == ""
    desks.commands.send(run, "pause")
    desks.tell("received")
    assert desks.panel(run).waiting == "Pause: waiting for the end of the batch"


def test_the_sentence_says_what_will_happen(desks: Desks):
    def sentence(*limits: LimitSpec) -> str:
        return with_plain_spaces(
            desks.panel(made_up_run(limits=list(limits))).at_limit.outcome_text
        )

    assert sentence(limit(), limit("graph", 1000.0)) == (
        "When RAM exceeds 128 GiB or graph size exceeds 1 000 operations, kmonitor saves, clears "
        "and reloads the model after the current epoch."
    )
    assert (
        sentence(limit(action="notify")) == "When RAM exceeds 128 GiB, kmonitor notifies you here."
    )
    assert "training stops" in sentence(limit(action="stop"))
    assert "checkpoint is saved" in sentence(limit(action="save"))
    assert "kmonitor collects" in sentence(limit(action="collect"))
    assert "saves, clears and reloads" in sentence()
    desks.limits.reloads = False
    assert sentence().endswith("kmonitor notifies you here.")
    ended = desks.panel(made_up_run(state="lost", limits=[limit()]))
    assert "no longer monitored" in ended.at_limit.outcome_text


def test_checkpoints_and_the_question_before_a_stop(desks: Desks):
    bare = made_up_run(checkpoint_epoch=None)
    assert desks.panel(bare).checkpoint == "No checkpoint yet"
    ended = made_up_run(checkpoint_epoch=None, state="failed")
    assert desks.panel(ended).checkpoint == "No checkpoint was saved"
    little = made_up_run(checkpoint_bytes=None, checkpoint_wall_s=None)
    assert desks.panel(little).checkpoint == "Last checkpoint: epoch 36"
    question = confirm_stop(made_up_run())
    assert question.title == "Stop “resnet50-imagenet”?"


def test_once_the_run_is_paused_it_says_so_though_the_command_is_still_open(desks: Desks):
    run = made_up_run()
    desks.commands.send(run, "pause")
    desks.tell("received")
    assert desks.panel(run).waiting == "Pause: waiting for the end of the batch"

    paused = made_up_run(state="paused")
    assert with_plain_spaces(desks.panel(paused).waiting) == (
        "Paused after step 1 204 of epoch 37; press Resume to continue"
    )
    start = made_up_run(state="paused", step=0)
    assert desks.panel(start).waiting == "Paused in epoch 37; press Resume to continue"
    nowhere = made_up_run(state="paused", epoch=None)
    assert desks.panel(nowhere).waiting == "Paused; press Resume to continue"

    desks.commands.send(paused, "resume")
    assert desks.panel(paused).waiting == "Resume: requested"
