"""The verdict on a card, in a few words."""

from dataclasses import dataclass
from typing import Final

from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.text.language import tr
from kmonitor.ui.verdicts.forecast_text import (
    brief_forecast_text,
    forecast_text,
    short_forecast_text,
)
from kmonitor.ui.verdicts.verdict_text import (
    Tone,
    verdict_headline,
    verdict_state_text,
    verdict_tone,
)
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.unions import RunSummary
from kmonitor_agent.wire.messages.verdict_events import VerdictState

QUIET_STATES: Final = frozenset[VerdictState]({"measuring", "steady"})
"""States that need no line of their own."""


@dataclass(frozen=True, slots=True)
class VerdictLabel:
    """The verdict on a card.

    Attributes:
        text: "leak suspected"; empty: there is no verdict.
        forecast: Short forecast of a limit; empty if it is not known.
        forecast_brief: Shorter forecast for narrow cards; may be empty.
        forecast_tooltip: Forecast with the limit and the time of day.
        is_quiet: True if the verdict needs no line of its own.
        tooltip: The verdict in one sentence.
    """

    text: str = ""
    tone: Tone = "mute"
    forecast: str = ""
    forecast_brief: str = ""
    forecast_tooltip: str = ""
    is_quiet: bool = True
    tooltip: str = ""


NO_VERDICT: Final = VerdictLabel()
"""Label of a metric without a verdict."""


def verdict_label(run: RunSummary, verdict: Verdict | None, *, now_wall_s: float) -> VerdictLabel:
    """Return the label for a card.

    Args:
        verdict: Verdict on the card's metric; None: none yet.
        now_wall_s: Now, UTC epoch seconds.
    """
    if verdict is None or (has_ended(run) and verdict.state == "measuring"):
        return NO_VERDICT
    return VerdictLabel(
        text=verdict_state_text(verdict),
        tone=verdict_tone(verdict),
        forecast=short_forecast_text(run, verdict),
        forecast_brief=brief_forecast_text(run, verdict),
        forecast_tooltip=forecast_text(run, verdict, now_wall_s=now_wall_s),
        is_quiet=verdict.state in QUIET_STATES,
        tooltip=tr("{verdict}. Click for the evidence.").format(verdict=verdict_headline(verdict)),
    )
