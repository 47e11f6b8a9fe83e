"""How a run ended, in full: what is known of its death, its last minute, and what can go on."""

from kmonitor.ui.events.last_minute import (
    COLUMNS,
    LastMinute,
    asked_from_s,
    blocks,
    highest_words,
    last_minute,
    last_minute_words,
)
from kmonitor.ui.runs.commands import Ask
from kmonitor.ui.runs.run_states import has_ended, has_ended_badly, state_picture
from kmonitor.ui.text.formats import bytes_text
from kmonitor.ui.text.language import tr
from kmonitor.ui.verdicts.evidence import EvidencePicture
from kmonitor_agent.wire.messages.unions import RunSummary, SeriesAsked, SeriesTold


def going_on_words(run: RunSummary) -> str:
    """Whether the training can go on from where it was, and with which command.

    Empty of a study's fold that saved nothing: whether it is tried again is the study's matter.
    """
    if run.checkpoint_bytes is None and run.fold is not None:
        return ""
    if run.checkpoint_bytes is None:
        return tr(
            "Nothing of it was saved. `kmonitor run --resume-after-crash 3 -- python ...` saves"
            " as it goes, and goes on after a crash"
        )
    epoch = "?" if run.checkpoint_epoch is None else run.checkpoint_epoch + 1
    return tr(
        "Its state of epoch {epoch} is saved ({size}): `kmonitor checkpoints {run}` lists it,"
        " `kmonitor restore` makes a model of it"
    ).format(epoch=epoch, size=bytes_text(run.checkpoint_bytes), run=run.run[:8])


def end_picture(
    run: RunSummary, minute: LastMinute | None, *, now_wall_s: float
) -> EvidencePicture:
    """The end of a run in full.

    Args:
        run: A run that has ended.
        minute: What its memory did at last; None if it is not known.
        now_wall_s: Now, UTC epoch seconds.
    """
    state = state_picture(run, now_wall_s=now_wall_s)
    lines = [going_on_words(run)] if has_ended_badly(run) else []
    if minute is not None:
        lines = [last_minute_words(minute), blocks(minute), highest_words(minute), *lines]
    lines = [line for line in lines if line]
    why = state.why
    return EvidencePicture(
        title=f"{run.name}: {state.word}",
        subtitle=tr("Before its end"),
        lead=why[:1].upper() + why[1:],
        lines=tuple(lines),
        advice=(),
        actions=(),
        tone="crit" if has_ended_badly(run) else "mute",
    )


class EndBook:
    """Last minutes of runs that ended, asked for when one is looked at; main thread only."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._minutes: dict[str, LastMinute | None] = {}
        self._open: dict[int, str] = {}

    def want(self, run: RunSummary) -> None:
        """Have the last minute of a run asked for, unless it is known or it goes on."""
        known = run.run in self._minutes or run.run in self._open.values()
        if has_ended(run) and not known:
            question = SeriesAsked(
                ask=0, run=run.run, columns=list(COLUMNS), from_s=asked_from_s(run), buckets=4000
            )
            self._open[self._ask(question)] = run.run

    def get(self, run: str) -> LastMinute | None:
        """What is known."""
        return self._minutes.get(run)

    def take(self, told: SeriesTold) -> bool:
        """Take an answer; False: it is to a question of others."""
        run = self._open.pop(told.ask, None)
        if run is None:
            return False
        self._minutes[run] = last_minute(told)
        return True

    def refuse(self, ask: int) -> None:
        """A question was refused: it is asked again when the end is looked at again."""
        self._open.pop(ask, None)
