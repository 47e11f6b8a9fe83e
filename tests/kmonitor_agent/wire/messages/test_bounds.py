"""Every field of every message, event and spool record has bounds, and keeps them."""

import math
import re
import sys
from typing import Any

import msgspec
import pytest

from kmonitor_agent.studies.attempts import Attempt
from kmonitor_agent.studies.study_folder import StudyFacts
from kmonitor_agent.wire.local.fold_identity import FoldIdentity
from kmonitor_agent.wire.local.interpreter_record import InterpreterRecord
from kmonitor_agent.wire.local.supervision import RestartRequest, SupervisorSettings
from kmonitor_agent.wire.messages.codec import (
    MalformedMessage,
    ProtocolError,
    decode_event,
    encode_event,
    unpack_from_agent,
)
from kmonitor_agent.wire.messages.events import EpochEnded, FitStarted, LimitsInForce, Sample
from kmonitor_agent.wire.messages.fields import (
    MAGIC,
    MAX_COUNT,
    MAX_DURATION_S,
    MAX_EVENT_BYTES,
    MAX_WALL_S,
    clamp_count,
    clamp_fields,
    clamp_seconds,
    clamp_wall,
    read_clamped,
)
from kmonitor_agent.wire.messages.model_layout import ModelLayout
from kmonitor_agent.wire.messages.unions import Batch
from kmonitor_agent.wire.spool.format import SessionFacts
from tests.support.extremes import extremes, unbounded
from tests.support.golden_frames import kinds

KINDS = kinds()
IDS = [f"{side}-{kind.__name__}" for side, kind, _ in KINDS]
FILES = (
    SessionFacts,
    ModelLayout,
    InterpreterRecord,
    SupervisorSettings,
    RestartRequest,
    FoldIdentity,
    StudyFacts,
    Attempt,
)


@pytest.mark.parametrize("kind", [*(kind for _, kind, _ in KINDS), *FILES])
def test_every_field_has_bounds(kind: type[msgspec.Struct]):
    assert unbounded(kind) == []


@pytest.mark.parametrize(("side", "kind", "decode"), KINDS, ids=IDS)
def test_what_is_at_a_bound_passes_and_one_beyond_does_not(side: str, kind: Any, decode: Any):
    wrong: list[str] = []
    for extreme in extremes(kind):
        body = extreme.body
        is_within = extreme.is_within and (side != "event" or len(body) <= MAX_EVENT_BYTES)
        try:
            decode(body)
        except ProtocolError:
            passed = False
        else:
            passed = True
        if passed != is_within and not _is_sum(kind, extreme.plain):
            wrong.append(f"{extreme.path} {'refused' if is_within else 'taken'}: {body[:80]!r}")

    assert wrong == []


def _is_sum(kind: Any, plain: Any) -> bool:
    return kind is Batch and plain["first"] + len(plain["events"]) - 1 > MAX_COUNT


@pytest.mark.parametrize("kind", FILES)
def test_a_file_s_field_at_a_bound_passes_and_one_beyond_does_not(kind: Any):
    for extreme in extremes(kind):
        try:
            msgspec.msgpack.decode(extreme.body, type=kind)
        except msgspec.ValidationError:
            assert not extreme.is_within, extreme.path
        else:
            assert extreme.is_within, extreme.path


@pytest.mark.parametrize(("first", "n"), [(MAX_COUNT, 1), (MAX_COUNT - 1, 2)])
def test_a_batch_may_end_at_the_largest_number_and_not_behind_it(first: int, n: int):
    def batch(n: int) -> tuple[bytes, bytes]:
        plain = {"type": "batch", "run": "r", "session": "b", "first": first, "events": [b"x"] * n}
        return MAGIC, msgspec.msgpack.encode(plain)

    assert isinstance(unpack_from_agent(batch(n)), Batch)
    with pytest.raises(MalformedMessage):
        unpack_from_agent(batch(n + 1))


@pytest.mark.parametrize(("side", "kind", "decode"), KINDS, ids=IDS)
def test_numbers_texts_and_lists_beyond_are_cut_to_their_bounds(side: str, kind: Any, decode: Any):
    for extreme in extremes(kind):
        why = _why_not_cut(kind, decode, extreme.plain)
        # A wrong type, no id, no word of a closed set, too few or too many bytes: no cut helps.
        assert not why or _CANNOT_BE_CUT.search(why), f"{extreme.path}: {why}"


_CANNOT_BE_CUT = re.compile(
    r"got `|Invalid enum|matching regex|`bytes` of length|of length >="
    r"|the last number is greater than"
)


def _why_not_cut(kind: Any, decode: Any, plain: Any) -> str:
    try:
        body = msgspec.msgpack.encode(read_clamped(kind, plain))
    except msgspec.ValidationError as exc:
        return str(exc)
    if len(body) <= MAX_EVENT_BYTES:
        decode(body)
    return ""


@pytest.mark.parametrize(
    "event",
    [
        FitStarted(t_s=0.0, fit=1, model="m" * 300, epochs=sys.maxsize, steps=10**30),
        FitStarted(t_s=math.nan, fit=-1, model="m", learning_rate=math.inf),
        EpochEnded(t_s=1e300, fit=1, epoch=0, seconds=-1.0, logs={"a" * 300: math.nan}),
        Sample(t_s=1.0, ram_bytes=1e30, logs={f"m{n}": 1.0 for n in range(100)}),
        LimitsInForce(t_s=0.0, limits=[]),
    ],
)
def test_no_event_that_is_sent_is_refused_for_a_bound(event: Any):
    found = decode_event(encode_event(event))

    assert type(found) is type(event)


def test_what_is_within_its_bounds_is_not_changed():
    event = FitStarted(t_s=1.5, fit=3, model="net", epochs=MAX_COUNT, learning_rate=math.inf)

    assert clamp_fields(event) == event


@pytest.mark.parametrize("far", [math.nan, -math.inf, -1.0, -0.0])
def test_times_below_their_bounds_are_zero(far: float):
    assert (clamp_seconds(far), clamp_wall(far)) == (0.0, 0.0)


def test_times_and_counts_above_their_bounds_are_at_them():
    assert clamp_seconds(math.inf) == MAX_DURATION_S
    assert clamp_wall(1e300) == MAX_WALL_S
    assert (clamp_count(2**80), clamp_count(-1)) == (MAX_COUNT, 0)
