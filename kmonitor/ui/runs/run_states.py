"""Display of a run's state: always an icon and a word."""

from dataclasses import dataclass
from typing import Final, Literal

from kmonitor.ui.studies.study_store import is_study
from kmonitor.ui.text.formats import duration_text
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import later, tr
from kmonitor_agent.wire.messages.unions import ENDED_STATES, RunState, RunSummary

Tone = Literal["plain", "accent", "ok", "warn", "crit", "mute"]


@dataclass(frozen=True, slots=True)
class RunStateLabel:
    """A state in the header, in the tree and in accessible texts.

    Attributes:
        icon: Name of an icon.
        label: In the user's language.
        tone: Meaning of the colour.
        why: Details for a tooltip; may be empty.
    """

    icon: str
    label: str
    tone: Tone
    why: str = ""


_STATE_LABELS: Final[dict[RunState, tuple[str, str, Tone]]] = {
    "starting": ("clock", later("Starting"), "accent"),
    "training": ("dot", later("Training"), "ok"),
    "idle": ("idle", later("Between fits"), "mute"),
    "paused": ("pause", later("Paused"), "warn"),
    "reclaiming": ("reload", later("Running an action"), "accent"),
    "finished": ("check", later("Finished"), "mute"),
    "stopped": ("stop", later("Stopped"), "mute"),
    "failed": ("error", later("Failed"), "crit"),
    "interrupted": ("bolt", later("Interrupted"), "warn"),
    "silent": ("clock", later("No data"), "warn"),
    "lost": ("unplug", later("Lost"), "crit"),
}

_RESTARTING: Final[tuple[str, str, Tone]] = ("restart", later("Restarting"), "accent")
_RUNS: Final = later("Running")
_CALLS: Final = later("No fit has started; memory is judged from call to call.")
_REASONS: Final[dict[RunState, str]] = {
    "starting": later("The process has started, but no fit has."),
    "reclaiming": later("A save, collect or reload is running; training waits for it."),
    "idle": later("The process is alive; no fit is running."),
    "silent": later(
        "Its process is alive but is not sending any data: a long trace or collection may "
        "be blocking it."
    ),
    "lost": later("Its process ended unexpectedly; the cause is unknown."),
}

_ENDED_BADLY: Final = frozenset[RunState]({"failed", "interrupted", "lost"})


def has_ended(summary: RunSummary) -> bool:
    """True if this run no longer accepts commands."""
    return summary.state in ENDED_STATES


def has_ended_badly(summary: RunSummary) -> bool:
    """True if the run failed, was interrupted, or was lost."""
    return summary.state in _ENDED_BADLY


def is_restarting(summary: RunSummary) -> bool:
    """True if a new process resumes after a restart: the run is starting, and had a fit before."""
    return summary.state == "starting" and summary.fit > 0


def run_state_label(
    summary: RunSummary, *, now_wall_s: float, is_connected: bool = True
) -> RunStateLabel:
    """Return the label of a run's state.

    Args:
        is_connected: False: the hub is lost, so that the data of a living run become outdated.
    """
    icon, label, tone = _RESTARTING if is_restarting(summary) else _STATE_LABELS[summary.state]
    if (is_study(summary) and summary.state == "training") or _only_calls(summary):
        label = _RUNS
    why = translated_text(summary.state_why) or _reason(summary)
    if summary.clock_ahead_s:
        ahead = tr("The clock on {host} is {time} ahead of this machine's clock.").format(
            host=summary.host, time=duration_text(summary.clock_ahead_s)
        )
        why = f"{why} {ahead}" if why else ahead
    silent_s = now_wall_s - summary.last_wall_s
    if has_ended(summary):
        label = tr(label)
        if summary.cause:
            label = tr("{state}: {cause}").format(
                state=label, cause=translated_text(summary.cause)
            )
        return RunStateLabel(icon, label, tone, why)
    if not is_connected:
        text = tr("No data for {time}").format(time=duration_text(silent_s))
        return RunStateLabel("unplug", text, "crit", tr("Not connected to the hub."))
    if summary.stalled_wall_s is not None:
        return _stalled(summary, now_wall_s - summary.stalled_wall_s, why)
    if summary.state == "silent":
        text = tr("No data for {time}").format(time=duration_text(silent_s))
        return RunStateLabel(icon, text, tone, why)
    return RunStateLabel(icon, tr(label), tone, why)


_LONGEST_SENTENCE: Final = 160


def error_sentence(text: str) -> str:
    """Shorten an error message that may be huge to one sentence; a short one is returned whole.

    Args:
        text: Message as the process reported it, possibly with many lines.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    sentence = next(iter(lines), "")
    if sentence.endswith(":") and len(lines) > 1:
        sentence = f"{sentence} {lines[1]}"
    if len(sentence) <= _LONGEST_SENTENCE:
        return sentence
    cut = sentence[:_LONGEST_SENTENCE]
    end = max(cut.rfind(". "), cut.rfind("; "))
    return cut[: end + 1] if end > 0 else f"{cut.rpartition(' ')[0] or cut}\u2026"


def stall_advice(summary: RunSummary) -> str:
    """Advice on a run that makes no steps, in one sentence; empty while it makes some."""
    if summary.stalled_wall_s is None:
        return ""
    text = tr(
        "`py-spy dump --pid {pid}` on {host} shows where the process is waiting. Actions run at "
        "its next step; if it does not reach one, kill it there"
    )
    return text.format(pid=summary.pid, host=summary.host)


def _stalled(summary: RunSummary, silent_s: float, why: str) -> RunStateLabel:
    text = tr("No step for {time}").format(time=duration_text(silent_s))
    return RunStateLabel("clock", text, "warn", f"{_capital(why)}. {stall_advice(summary)}.")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _only_calls(summary: RunSummary) -> bool:
    """True for a live run of `evaluate`, `predict` and `collect()` calls, without a fit so far."""
    return summary.state == "idle" and not summary.fit


def _reason(summary: RunSummary) -> str:
    reason = _CALLS if _only_calls(summary) else _REASONS.get(summary.state)
    return tr(reason) if reason is not None else ""
