"""What an action did, in one sentence."""

from kmonitor.presenters.formats import (
    bytes_change_text,
    bytes_text,
    count_change_text,
    seconds_text,
)
from kmonitor.presenters.language import tr
from kmonitor_agent.protocol.facts import ActionRecord, Footprint


def record_sentence(record: ActionRecord) -> str:
    """What was done, how long it took, what came back, and who asked.

    For example "Reload after epoch 22 in 14.2 s · RAM 731 → 598 MiB · functions 700 → 28 ·
    asked by limit ram 80%".
    """
    parts = [_done(record), *_changes(record.before, record.after)]
    if record.checkpoint and record.ok:
        parts.append(tr("checkpoint {size}").format(size=bytes_text(record.state_bytes)))
    if record.why:
        parts.append(record.why)
    if record.asked_by:
        parts.append(tr("asked by {who}").format(who=record.asked_by))
    return " · ".join(parts)


def _done(record: ActionRecord) -> str:
    where = (
        tr("in epoch {epoch}, step {step}").format(epoch=record.epoch + 1, step=record.step)
        if record.step
        else tr("after epoch {epoch}").format(epoch=record.epoch + 1)
    )
    words = {
        "save": tr("Checkpoint saved {where}"),
        "collect": tr("Collected {where}"),
        "reload": tr("Reloaded {where}"),
        "restart": tr("Left to start again {where}"),
        "diagnose": tr("Diagnosed {where}"),
        "stop": tr("Stopped {where}"),
        "pause": tr("Paused {where}"),
        "resume": tr("Resumed {where}"),
        "notify": tr("Limit noted {where}"),
    }
    failed = {
        "save": tr("Save failed {where}"),
        "collect": tr("Collect failed {where}"),
        "reload": tr("Reload failed {where}"),
        "restart": tr("Restart refused {where}"),
        "diagnose": tr("Diagnose failed {where}"),
    }
    text = words[record.action] if record.ok else failed.get(record.action, words[record.action])
    text = text.format(where=where)
    if record.action in failed:
        text += " " + tr("in {time}").format(time=seconds_text(record.seconds))
    return text


def _changes(before: Footprint, after: Footprint | None) -> list[str]:
    if after is None:
        return []
    changes: list[str] = []
    pairs = (
        (tr("RAM"), before.ram_process_bytes, after.ram_process_bytes, bytes_change_text),
        (
            tr("allocator"),
            before.allocator_in_use_bytes,
            after.allocator_in_use_bytes,
            bytes_change_text,
        ),
        (tr("graph"), before.graph_operations, after.graph_operations, count_change_text),
        (tr("functions"), before.functions, after.functions, count_change_text),
    )
    for title, old, new, change_text in pairs:
        if old is not None and new is not None and (old or new):
            changes.append(f"{title} {change_text(old, new)}")
    return changes
