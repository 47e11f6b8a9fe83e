"""Verdicts as shown in the evidence window and in the run tree."""

from dataclasses import dataclass
from typing import Final

from kmonitor.ui.charts.cards import NO_RATE, RateLabel, card_title
from kmonitor.ui.guide.pages import heading_slug
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.text.formats import rate_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.text.metrics import METRIC_UNITS, metric_name_of
from kmonitor.ui.verdicts.forecast_text import forecast_text
from kmonitor.ui.verdicts.verdict_label import QUIET_STATES
from kmonitor.ui.verdicts.verdict_text import (
    Tone,
    advice_of,
    cause_text,
    evidence_lines,
    slope_text,
    suspicion_of,
    unit_name,
    verdict_headline,
    verdict_state_text,
    verdict_tone,
)
from kmonitor_agent.wire.messages.commands import CommandName
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.unions import RunSummary
from kmonitor_agent.wire.messages.verdict_events import ALARMED_STATES

_NO_ADVICE: Final = QUIET_STATES | {"cleared"}


@dataclass(frozen=True, slots=True)
class EvidenceState:
    """Contents of the evidence window.

    Attributes:
        title: "RAM: leak suspected".
        subtitle: Name of the run.
        lead: Cause of the growth, in one sentence.
        lines: Evidence, and the forecast of a limit.
        advice: Advice that only changes to the script can follow.
        actions: Command and title of possible remedies that the user can request now.
        guide: Heading in the guide's page of folds about the memory of a loop of models; empty if
            the verdict is not about such a loop.
    """

    title: str
    subtitle: str
    lead: str
    lines: tuple[str, ...]
    advice: tuple[str, ...]
    actions: tuple[tuple[CommandName, str], ...]
    tone: Tone = "mute"
    guide: str = ""

    def as_text(self) -> str:
        """Full contents, for the clipboard."""
        return "\n".join((self.title, self.subtitle, self.lead, *self.lines, *self.advice))


def judged_rate(verdict: Verdict | None, computed: RateLabel) -> RateLabel:
    """Return the rate beside a verdict: the slope of the verdict, so that card and evidence agree.

    Args:
        verdict: Verdict on the card's metric since the last reload; None: none yet.
        computed: Rate to show while there is no verdict.
    """
    if verdict is None or verdict.state == "measuring" or verdict.slope is None:
        return computed
    if verdict.state == "steady":
        return NO_RATE  # the verdict says it, and the evidence shows the slope
    text = rate_text(verdict.slope, METRIC_UNITS[verdict.metric], unit_name(verdict))
    is_growing = verdict.state in ALARMED_STATES and verdict.slope > 0.0
    return RateLabel(text, int(is_growing), slope_text(verdict))


def evidence_state(
    run: RunSummary, verdict: Verdict, *, now_wall_s: float, can_request: bool
) -> EvidenceState:
    """Return the contents of the evidence window.

    Args:
        now_wall_s: Now, UTC epoch seconds.
        can_request: True if the run accepts commands from this window.
    """
    is_alarm = verdict.state not in _NO_ADVICE
    forecast = forecast_text(run, verdict, now_wall_s=now_wall_s)
    lines = [*evidence_lines(verdict), forecast]
    advice = advice_of(verdict, run.backend) if is_alarm else []
    is_final = has_ended(run)
    title = f"{card_title(run, verdict.metric)}: {verdict_state_text(verdict, is_final=is_final)}"
    return EvidenceState(
        title=title,
        subtitle=run.name,
        lead=_capitalized(
            cause_text(verdict) or verdict_headline(verdict, is_final=is_final), verdict.name
        ),
        lines=tuple(_capitalized(line, "") for line in lines if line),
        advice=(
            *(each.text for each in advice if each.command is None),
            *(advice_on_next_run(run, verdict) if is_alarm else ()),
        ),
        actions=tuple(
            (each.command, each.text)
            for each in advice
            if each.command is not None and can_request and each.command in run.actions
        ),
        tone=verdict_tone(verdict),
        guide=loop_guide_slug() if is_alarm and verdict.per == "fit" else "",
    )


def advice_on_next_run(run: RunSummary, verdict: Verdict) -> tuple[str, ...]:
    """Advice that a run which has ended can no longer follow."""
    is_open = any(each.command == "diagnose" for each in advice_of(verdict))
    if not has_ended(run) or not is_open:
        return ()
    return (tr("diagnose the next run while it is training: kmonitor command last diagnose"),)


def loop_guide_slug() -> str:
    """Fragment of the link to the guide's section about loops."""
    return heading_slug(tr("Models trained in a loop in one process"))


def suspicion_text(run: RunSummary) -> str:
    """Tooltip of the run tree's mark: "RAM: leak suspected"; empty: no mark."""
    return ", ".join(
        f"{metric_name_of(run, metric)}: {suspicion_of(metric)}"
        for metric, state in run.verdicts.items()
        if state == "suspected"
    )


def _capitalized(text: str, name: str) -> str:
    # A name of the script, such as `one_step`, keeps its spelling.
    return text if name and text.startswith(name) else text[:1].upper() + text[1:]
