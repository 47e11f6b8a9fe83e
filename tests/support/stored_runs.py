"""Runs that a hub finds in its database when it starts, as if it had watched them for days."""

import os
import random
import socket
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

from kmonitor.hub.faults import HubFaults
from kmonitor.hub.log import LOG
from kmonitor.hub.runs.hub_event_log import HubEventLog, TakenEvent, read_event_body
from kmonitor.hub.runs.run_record import RunRecord
from kmonitor.hub.store.database import SqliteDatabase
from kmonitor.hub.store.sample_blocks import BLOCK_SAMPLES, SampleBlock, next_block
from kmonitor_agent.wire.local.clock import SystemClock
from kmonitor_agent.wire.local.folders import Folders
from kmonitor_agent.wire.messages.codec import encode_event
from kmonitor_agent.wire.messages.events import (
    EpochEnded,
    EpochStarted,
    Event,
    FitStarted,
    Sample,
    SessionEnded,
    SessionStarted,
    StepTimes,
)
from kmonitor_agent.wire.messages.fields import new_id

EPOCHS = 90
_GIB = 2.0**30
_COMMIT = 10_000
_FIRST_SEQ = 3
"""After the events of session and fit."""

_NAMES = ("resnet50-imagenet", "vit-b16-finetune", "unet-seg-3d", "bert-中文-分类", "gan-faces")


def store_runs(
    folders: Folders,
    n_runs: int,
    n_samples: int,
    *,
    are_ended: bool = False,
    are_copies: bool = False,
    are_packed: bool = True,
) -> dict[str, int]:
    """Fill the database of a hub that does not run; number of events of each run, oldest first.

    Args:
        folders: Folders of the hub.
        n_runs: Number of runs.
        n_samples: Samples of each, one a second, in `EPOCHS` epochs.
        are_ended: True if their processes said goodbye.
        are_copies: All but the first have the first one's blocks and no events of samples, so
            that eight million samples take seconds and not three gigabytes.
        are_packed: False: none is, as of a run that was shipped a moment ago.
    """
    folders.database.mkdir(parents=True, exist_ok=True)
    path = folders.database / "hub.sqlite3"
    database = SqliteDatabase(path)
    log = HubEventLog(database, HubFaults(LOG), SystemClock())
    # Read once: what it takes to decode them is not what is measured.
    samples = list(_samples(n_samples))
    bare = _renumbered(event for event in samples if not isinstance(event[2], Sample))
    found: list[RunRecord] = []
    for number in range(n_runs):
        events = bare if are_copies and number else samples
        found.append(_store(log, number, n_runs, events, is_ended=are_ended))
    log.commit()
    if are_packed and n_samples >= BLOCK_SAMPLES:
        _pack(log)
    if are_copies:
        _copy_blocks(log, found)
    database.close()
    return {record.run: record.accepted for record in found}


def _renumbered(events: Iterable[TakenEvent]) -> list[TakenEvent]:
    return [
        (seq, kind, event, body) for seq, (_, kind, event, body) in enumerate(events, _FIRST_SEQ)
    ]


def _samples(n_samples: int) -> Iterator[TakenEvent]:
    rng = random.Random(5)  # noqa: S311 - the same samples each time
    every = max(1, n_samples // EPOCHS)
    seq = _FIRST_SEQ - 1
    for n in range(n_samples):
        t_s, epoch = float(n + 1), n // every
        if n % every == 0:
            seq += 1
            yield _taken(seq, EpochStarted(t_s=t_s, fit=1, epoch=epoch))
        level = 1.0 + n / n_samples + 0.1 * rng.random()
        sample = Sample(
            t_s=t_s,
            fit=1,
            epoch=epoch,
            step=n % every,
            ram_bytes=level * 20 * _GIB,
            ram_of_bytes=192 * _GIB,
            vram_bytes=level * 10 * _GIB,
            allocator_in_use_bytes=level * 9 * _GIB,
            graph_operations=float(9000 + n // 100),
            step_time_s=0.2 * level,
        )
        seq += 1
        yield _taken(seq, sample)
        if n % every == every - 1:
            seq += 1
            yield _taken(seq, _epoch_ended(t_s, epoch, every, 0.2 * level))


def _epoch_ended(t_s: float, epoch: int, steps: int, step_s: float) -> EpochEnded:
    times = StepTimes(
        count=steps, mean_s=step_s, p50_s=step_s, p95_s=step_s, p99_s=step_s, max_s=step_s
    )
    return EpochEnded(
        t_s=t_s,
        fit=1,
        epoch=epoch,
        seconds=float(steps),
        steps=steps,
        logs={"loss": 1 / (epoch + 1)},
        step_times=times,
    )


def _store(
    log: HubEventLog, number: int, n_runs: int, samples: list[TakenEvent], *, is_ended: bool
) -> RunRecord:
    record = log.registry.get_or_add(new_id())
    # The newest first in every list; they began one after the other.
    started_wall_s = time.time() - (n_runs - number) * 3600.0
    begun = SessionStarted(
        t_s=0.0,
        session=new_id(),
        name=f"{_NAMES[number % len(_NAMES)]}-{number}",
        host=socket.gethostname(),
        pid=os.getpid(),
        started_wall_s=started_wall_s,
        backend="tensorflow",
        actions=["save", "collect", "reload", "set_limits", "stop"],
    )
    fit = FitStarted(t_s=0.5, fit=1, model="net", epochs=EPOCHS, steps=1000)
    log.append(record, [_taken(1, begun), _taken(2, fit)])
    for first in range(0, len(samples), _COMMIT):
        log.append(record, samples[first : first + _COMMIT])
        log.commit()
    if is_ended:
        over = SessionEnded(t_s=record.last_t_s + 1.0, why="finished")
        log.append(record, [_taken(record.accepted + 1, over)])
    return record


def _taken(seq: int, event: Event) -> TakenEvent:
    return read_event_body(seq, encode_event(event))


def _pack(log: HubEventLog) -> None:
    reader = log.database.open_reader()
    for record in list(log.registry.all()):
        while (block := next_block(reader, record.key)) is not None:
            log.add_block(block)
            log.commit()
    reader.close()


def _copy_blocks(log: HubEventLog, runs: list[RunRecord]) -> None:
    first, *others = runs
    reader = log.database.open_reader()
    query = (
        "SELECT last_row, n_samples, name, body FROM sample_blocks"
        " WHERE run_key = ? ORDER BY last_row"
    )
    blocks: dict[int, SampleBlock] = {}
    for last_row, n_samples, name, body in reader.execute(query, (first.key,)):
        if last_row not in blocks:
            after_row = max(blocks, default=0)
            blocks[last_row] = SampleBlock(first.key, after_row, last_row, n_samples, {})
        blocks[last_row].columns[name] = body
    reader.close()
    for record in others:
        for block in blocks.values():
            log.add_block(replace(block, run_key=record.key))
        log.commit()
