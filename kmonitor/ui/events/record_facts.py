"""All that one record of an action says, fact by fact: tooltip, panel and copied text."""

from dataclasses import dataclass

from kmonitor.ui.events.action_records import (
    action_title,
    place_text,
    record_changes,
    released_text,
    result_text,
)
from kmonitor.ui.limits.limit_text import asked_by_words
from kmonitor.ui.text.formats import bytes_text, count_text, plain_text, seconds_text, shortened
from kmonitor.ui.text.hub_text import said
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import ActionRecord

_MOST_HELD = 4
_MOST_LETTERS = 96


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a record.

    Attributes:
        title: What it is.
        text: What it says; several lines where it is a list.
    """

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class RecordPicture:
    """A record that is read in full.

    Attributes:
        title: What was done.
        subtitle: Where and when.
        ok: Whether it did what was asked.
        facts: The rest.
    """

    title: str
    subtitle: str
    ok: bool
    facts: tuple[Fact, ...]

    def as_text(self) -> str:
        """All of it as plain text, for the clipboard."""
        lines = [self.title, self.subtitle]
        lines += [f"{fact.title}: {_indented(fact.text)}" for fact in self.facts]
        return plain_text("\n".join(line for line in lines if line))


def record_picture(record: ActionRecord, *, run_name: str, moment: str) -> RecordPicture:
    """A record in full.

    Args:
        record: What was done.
        run_name: Of which run.
        moment: When, in the viewer's zone.
    """
    title = action_title(record)
    title = title if record.ok else tr("{action} failed").format(action=title)
    where = tr("fit {fit}").format(fit=record.fit) + ", " + place_text(record)
    subtitle = " \u00b7 ".join(part for part in (run_name, where, moment) if part)
    return RecordPicture(title, subtitle, record.ok, tuple(_facts(record)))


def record_tooltip(record: ActionRecord, *, moment: str = "") -> str:
    """A record in few lines, for under the pointer."""
    title = action_title(record)
    title = title if record.ok else tr("{action} failed").format(action=title)
    head = " \u00b7 ".join(part for part in (f"{title} {place_text(record)}", moment) if part)
    lines = [head]
    lines += [f"{_capital(change.title)} {change.text}" for change in record_changes(record)]
    took = tr("took {time}").format(time=seconds_text(record.seconds))
    released = released_text(record)
    lines.append(f"{took}, {tr('released {what}').format(what=released)}" if released else took)
    held = [
        tr("still held: {what}").format(what=_short(line)) for line in record.held[:_MOST_HELD]
    ]
    lines += held
    if len(record.held) > _MOST_HELD:
        lines.append(tr("and {n} more").format(n=len(record.held) - _MOST_HELD))
    if record.export:
        lines.append(tr("exported as {file}").format(file=_short(record.export)))
    said_of_it = (*record.not_saved, record.unchanged, record.why)
    lines += [_short(said(text)) for text in said_of_it if text]
    lines.append(asked_text(record))
    return "\n".join(line for line in lines if line)


def asked_text(record: ActionRecord) -> str:
    """Who asked: "asked by limit ram 80%, as part of Reclaim"; empty when unknown."""
    who = asked_by_words(record.asked_by)
    parts = [tr("asked by {who}").format(who=who)] if who else []
    if record.part_of:
        parts.append(tr("as a step of Reclaim"))
    return ", ".join(parts)


def _facts(record: ActionRecord) -> list[Fact]:
    facts = [Fact(tr("Result"), result_text(record))]
    facts += [Fact(_capital(each.title), each.text) for each in record_changes(record)]
    facts.append(Fact(tr("The training waited"), seconds_text(record.seconds)))
    if record.action in ("collect", "reload"):
        facts.append(Fact(tr("Released"), released_text(record) or tr("nothing was retained")))
        facts.append(Fact(tr("Still held"), _listed(record.held) or tr("nothing known")))
    if record.variables:
        state = tr("{n} variables, {size}").format(
            n=count_text(record.variables), size=bytes_text(record.state_bytes)
        )
        facts.append(Fact(tr("State"), state))
    if record.not_saved:
        facts.append(Fact(tr("Not saved"), _listed([said(line) for line in record.not_saved])))
    for title, text in (
        (tr("Checkpoint"), record.checkpoint),
        (tr("Checksum"), record.checksum),
        (tr("Export"), record.export),
    ):
        if text:
            facts.append(Fact(title, text))
    who = asked_by_words(record.asked_by) or tr("not known")
    step = tr("{who}, as a step of Reclaim").format(who=who)
    facts.append(Fact(tr("Asked by"), step if record.part_of else who))
    return facts


def _listed(lines: list[str]) -> str:
    return lines[0] if len(lines) == 1 else "\n".join(f"\u2022 {line}" for line in lines)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _short(text: str) -> str:
    return shortened(text, _MOST_LETTERS)


def _indented(text: str) -> str:
    lines = text.splitlines()
    return lines[0] if len(lines) == 1 else "".join(f"\n  {line}" for line in lines)
