"""Records of actions as text: a summary, a tooltip, and all facts for the detail window."""

from dataclasses import dataclass
from typing import Final

from kmonitor.ui.limits.limit_text import requester_text
from kmonitor.ui.text.formats import (
    bytes_change_text,
    bytes_text,
    count_change_text,
    count_text,
    seconds_text,
    shortened,
    with_plain_spaces,
)
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import ActionRecord, Footprint

_TIMED: Final = ("save", "collect", "reload", "restart", "diagnose")
"""Actions whose duration is shown."""


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """One measure before and after an action.

    Attributes:
        key: "ram", "allocator", "graph" or "functions".
        title: Name of the measure.
        text: "88.0 → 47.0 GiB".
        gained: Decrease, in the unit of the measure.
    """

    key: str
    title: str
    text: str
    gained: float


def record_summary(record: ActionRecord) -> str:
    """An action's result, duration, measured changes, and requester, in one line.

    For example "Reload after epoch 22 in 14.2 s · RAM 731 → 598 MiB · functions 700 → 28 ·
    requested by limit ram 80%".
    """
    parts = [_outcome_text(record)]
    parts += [f"{change.title} {change.text}" for change in record_changes(record)]
    if record.checkpoint and record.ok:
        # The values alone: the file that holds them is larger.
        parts.append(tr("state {size}").format(size=bytes_text(record.state_bytes)))
    if record.export:
        parts.append(tr("exported as {file}").format(file=record.export))
    parts += [
        translated_text(line) for line in (*record.not_saved, record.unchanged, record.why) if line
    ]
    if record.requested_by:
        parts.append(tr("requested by {who}").format(who=requester_text(record.requested_by)))
    if record.part_of:
        parts.append(tr("part of Auto"))
    return " · ".join(parts)


def _outcome_text(record: ActionRecord) -> str:
    success_texts = {
        "save": tr("Checkpoint saved {where}"),
        "collect": tr("Collected {where}"),
        "reload": tr("Reloaded {where}"),
        "restart": tr("Restarted {where}") if record.after else tr("Exited for a restart {where}"),
        "diagnose": tr("Diagnosed {where}"),
        "stop": tr("Stopped {where}"),
        "pause": tr("Paused {where}"),
        "resume": tr("Resumed {where}"),
        "notify": tr("Limit exceeded {where}"),
    }
    failed = {
        "save": tr("Save failed {where}"),
        "collect": tr("Collect failed {where}"),
        "reload": tr("Reload failed {where}"),
        "restart": tr("Restart failed {where}"),
        "diagnose": tr("Diagnosis failed {where}"),
        "stop": tr("Stop failed {where}"),
        "pause": tr("Pause failed {where}"),
        "resume": tr("Resume failed {where}"),
    }
    nothing = {
        "collect": tr("Collect released nothing {where}"),
        "reload": tr("Reload released nothing {where}"),
    }
    ended = success_texts if record.ok else failed
    if record.ok and record.unchanged:
        ended = nothing
    text = ended.get(record.action, success_texts[record.action])
    text = text.format(where=position_text(record))
    if record.action in _TIMED:
        text += " " + tr("in {time}").format(time=seconds_text(record.seconds))
    return text


def record_changes(record: ActionRecord) -> list[MeasuredChange]:
    """Measures that were taken both before and after."""
    if record.after is None:
        return []
    pairs = (
        ("ram", tr("RAM"), *_pair(record, "ram_process_bytes"), bytes_change_text),
        (
            "allocator",
            tr("allocator"),
            *_pair(record, "allocator_in_use_bytes"),
            bytes_change_text,
        ),
        ("graph", tr("graph"), *_pair(record, "graph_operations"), count_change_text),
        ("functions", tr("functions"), *_pair(record, "functions"), count_change_text),
    )
    return [
        MeasuredChange(key, title, change_text(old, new), old - new)
        for key, title, old, new, change_text in pairs
        if old is not None and new is not None and (old or new)
    ]


def _pair(record: ActionRecord, field: str) -> tuple[float | None, float | None]:
    after = record.after or Footprint()
    return getattr(record.before, field), getattr(after, field)


def action_title(record: ActionRecord) -> str:
    """The action with its mode: "Reload (assign)"."""
    titles = {
        "save": tr("Save"),
        "collect": tr("Collect"),
        "reload": tr("Reload"),
        "restart": tr("Restart"),
        "diagnose": tr("Diagnose"),
        "stop": tr("Stop"),
    }
    title = titles.get(record.action, record.action)
    modes = {"assign": tr("assign"), "recreate": tr("recreate"), "rebuild": tr("rebuild")}
    return f"{title} ({modes.get(record.mode, record.mode)})" if record.mode else title


def action_icon(action: str) -> str:
    icons = {"collect": "broom", "auto": "layers", "notify": "bell"}
    return icons.get(action, action)


def position_text(record: ActionRecord) -> str:
    """Position in the training: "after epoch 22", "in epoch 22, step 512", "without a fit"."""
    if not record.fit:
        return tr("without a fit")
    if not record.step:
        return tr("after epoch {epoch}").format(epoch=record.epoch + 1)
    return tr("in epoch {epoch}, step {step}").format(
        epoch=record.epoch + 1, step=count_text(record.step)
    )


def fit_position_text(record: ActionRecord) -> str:
    """Fit and position in it: "fit 3, after epoch 22", "without a fit"."""
    position = position_text(record)
    return f"{tr('fit {fit}').format(fit=record.fit)}, {position}" if record.fit else position


def result_text(record: ActionRecord) -> str:
    """Result with its reason: "done", "changed nothing: there was nothing to release"."""
    outcome = tr("done") if record.ok else tr("failed")
    if record.ok and record.unchanged:
        outcome = tr("changed nothing")
    why = "; ".join(translated_text(text) for text in (record.unchanged, record.why) if text)
    return f"{outcome}: {why}" if why else outcome


def released_traces_text(record: ActionRecord) -> str:
    """Released traces: "16 traces of 3 models, 2 no longer used"; empty if there were none."""
    disused = record.disused_traces
    if record.released_traces <= disused:
        return tr("{traces} no longer used").format(traces=_traces(disused)) if disused else ""
    text = _traces(record.released_traces - disused)
    if record.released_models == 1:
        text = tr("{traces} of 1 model").format(traces=text)
    elif record.released_models:
        models = count_text(record.released_models)
        text = tr("{traces} of {models} models").format(traces=text, models=models)
    if not disused:
        return text
    return tr("{released}, {n} no longer used").format(released=text, n=count_text(disused))


def _traces(count: int) -> str:
    return tr("1 trace") if count == 1 else tr("{n} traces").format(n=count_text(count))


def record_origin_text(record: ActionRecord) -> str:
    """Requester: "requested by limit ram 80%, as part of Auto"; empty when unknown."""
    who = requester_text(record.requested_by)
    parts = [tr("requested by {who}").format(who=who)] if who else []
    if record.part_of:
        parts.append(tr("as part of Auto"))
    return ", ".join(parts)


_MOST_HELD = 4
_MOST_LETTERS = 96


def record_tooltip(record: ActionRecord, *, moment: str = "") -> str:
    """Short text of a record, for a tooltip."""
    title = action_title(record)
    title = title if record.ok else tr("{action} failed").format(action=title)
    head = " \u00b7 ".join(part for part in (f"{title} {position_text(record)}", moment) if part)
    lines = [head]
    lines += [f"{_capital(change.title)} {change.text}" for change in record_changes(record)]
    took = tr("took {time}").format(time=seconds_text(record.seconds))
    released = released_traces_text(record)
    lines.append(f"{took}, {tr('released {what}').format(what=released)}" if released else took)
    held = [
        tr("still held: {what}").format(what=_shortened_text(line))
        for line in record.held[:_MOST_HELD]
    ]
    lines += held
    if len(record.held) > _MOST_HELD:
        lines.append(tr("and {n} more").format(n=len(record.held) - _MOST_HELD))
    if record.export:
        lines.append(tr("exported as {file}").format(file=_shortened_text(record.export)))
    details = (*record.not_saved, record.unchanged, record.why)
    lines += [_shortened_text(translated_text(text)) for text in details if text]
    lines.append(record_origin_text(record))
    return "\n".join(line for line in lines if line)


def _shortened_text(text: str) -> str:
    return shortened(text, _MOST_LETTERS)


@dataclass(frozen=True, slots=True)
class RecordFact:
    """One fact of a record.

    Attributes:
        title: Name of the fact.
        text: Value as text; several lines for a list.
    """

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class RecordState:
    """A record in full.

    Attributes:
        title: The action.
        subtitle: Run, position in the training, and time.
        ok: True if the action succeeded.
        facts: All other facts.
    """

    title: str
    subtitle: str
    ok: bool
    facts: tuple[RecordFact, ...]

    def as_text(self) -> str:
        """The whole record as plain text, for the clipboard."""
        lines = [self.title, self.subtitle]
        lines += [f"{fact.title}: {_indented(fact.text)}" for fact in self.facts]
        return with_plain_spaces("\n".join(line for line in lines if line))


def record_state(record: ActionRecord, *, run_name: str, moment: str) -> RecordState:
    """Return a record in full.

    Args:
        moment: Time of the record as text, in the viewer's zone.
    """
    title = action_title(record)
    title = title if record.ok else tr("{action} failed").format(action=title)
    subtitle = " \u00b7 ".join(
        part for part in (run_name, fit_position_text(record), moment) if part
    )
    return RecordState(title, subtitle, record.ok, tuple(_facts(record)))


def _facts(record: ActionRecord) -> list[RecordFact]:
    facts = [RecordFact(tr("Result"), result_text(record))]
    facts += [RecordFact(_capital(each.title), each.text) for each in record_changes(record)]
    facts.append(RecordFact(tr("Training paused for"), seconds_text(record.seconds)))
    if record.action in ("collect", "reload"):
        facts.append(
            RecordFact(tr("Released"), released_traces_text(record) or tr("nothing was retained"))
        )
        facts.append(RecordFact(tr("Still held"), _listed(record.held) or tr("unknown")))
    if record.variables:
        state = tr("{n} variables, {size}").format(
            n=count_text(record.variables), size=bytes_text(record.state_bytes)
        )
        facts.append(RecordFact(tr("State"), state))
    if record.not_saved:
        facts.append(
            RecordFact(
                tr("Not saved"), _listed([translated_text(line) for line in record.not_saved])
            )
        )
    for title, text in (
        (tr("Checkpoint"), record.checkpoint),
        (tr("Checksum"), record.checksum),
        (tr("Export"), record.export),
    ):
        if text:
            facts.append(RecordFact(title, text))
    who = requester_text(record.requested_by) or tr("not known")
    step = tr("{who}, as part of Auto").format(who=who)
    facts.append(RecordFact(tr("Requested by"), step if record.part_of else who))
    return facts


def _listed(lines: list[str]) -> str:
    return lines[0] if len(lines) == 1 else "\n".join(f"\u2022 {line}" for line in lines)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _indented(text: str) -> str:
    lines = text.splitlines()
    return lines[0] if len(lines) == 1 else "".join(f"\n  {line}" for line in lines)
