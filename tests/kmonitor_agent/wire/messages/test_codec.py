"""Messages and events survive the way over the wire; whatever else arrives is a ProtocolError."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmonitor_agent.wire.messages.codec import (
    BadFrames,
    MalformedMessage,
    MessageTooLarge,
    ProtocolError,
    UnsupportedType,
    decode_event,
    encode_event,
    event_type,
    pack,
    unpack_from_agent,
    unpack_from_desktop,
    unpack_to_agent,
    unpack_to_desktop,
)
from kmonitor_agent.wire.messages.commands import Command, LimitSpec, SetLimits
from kmonitor_agent.wire.messages.events import (
    CommandProgress,
    EpochEnded,
    GraphSize,
    LimitsInForce,
    LostEvents,
    Notice,
    Sample,
    SessionStarted,
    StepTimes,
)
from kmonitor_agent.wire.messages.fields import (
    MAGIC,
    MAX_AMOUNT,
    MAX_BATCH_EVENTS,
    MAX_COUNT,
    MAX_DURATION_S,
    MAX_EVENT_BYTES,
    MAX_NAME,
    MAX_WALL_S,
    new_id,
)
from kmonitor_agent.wire.messages.unions import (
    Ack,
    Batch,
    ChangeHint,
    CommandRequest,
    Hello,
    HelloAgain,
    HubRequest,
    Nack,
    Ping,
    RunsRequest,
    Welcome,
)

IDS = st.from_regex(r"\A[0-9A-Za-z_-]{1,64}\Z")
COUNTS = st.integers(0, MAX_COUNT)
SECONDS = st.floats(0, MAX_DURATION_S)
WALLS = st.floats(0, MAX_WALL_S)
AMOUNTS = st.none() | st.floats(0, MAX_AMOUNT)
NAMES = st.text(max_size=MAX_NAME)
TEXTS = st.text(max_size=300)

SAMPLES = st.builds(Sample, t_s=SECONDS, fit=COUNTS, ram_bytes=AMOUNTS, step_time_s=SECONDS)
STEP_TIMES = st.builds(
    StepTimes,
    count=COUNTS,
    mean_s=SECONDS,
    p50_s=SECONDS,
    p95_s=SECONDS,
    p99_s=SECONDS,
    max_s=SECONDS,
)
EPOCHS = st.builds(
    EpochEnded,
    t_s=SECONDS,
    fit=COUNTS,
    epoch=COUNTS,
    seconds=SECONDS,
    logs=st.dictionaries(NAMES, st.floats(allow_nan=False)),
    step_times=st.none() | STEP_TIMES,
)
LIMITS = st.builds(
    LimitSpec, metric=st.just("ram"), value=AMOUNTS, action=st.sampled_from(["notify", "reload"])
)
EVENTS = st.one_of(
    SAMPLES,
    EPOCHS,
    st.builds(LostEvents, t_s=SECONDS, first=COUNTS, last=COUNTS, why=TEXTS),
    st.builds(LimitsInForce, t_s=SECONDS, limits=st.lists(LIMITS, max_size=3)),
    st.builds(
        GraphSize,
        t_s=SECONDS,
        fit=COUNTS,
        epoch=COUNTS,
        operations=COUNTS,
        traces=COUNTS,
        functions=COUNTS,
    ),
    st.builds(
        SessionStarted,
        t_s=SECONDS,
        session=IDS,
        name=NAMES,
        host=NAMES,
        pid=COUNTS,
        started_wall_s=WALLS,
        argv=st.lists(TEXTS, max_size=3),
        versions=st.dictionaries(NAMES, NAMES, max_size=3),
    ),
)
FROM_AGENT = st.one_of(
    st.builds(
        Hello,
        run=IDS,
        session=IDS,
        minor_versions=st.tuples(st.integers(0, 65535), st.integers(0, 65535)),
        first=COUNTS,
        last=COUNTS,
        pid=COUNTS,
        host=NAMES,
        started_wall_s=WALLS,
        monotonic_s=SECONDS,
    ),
    st.builds(
        Batch,
        run=IDS,
        session=IDS,
        first=st.integers(1, MAX_COUNT - 4),
        events=st.lists(st.binary(max_size=50), min_size=1, max_size=5),
    ),
)
TO_AGENT = st.one_of(
    st.builds(Ack, run=IDS, acked=COUNTS),
    st.builds(HelloAgain, run=IDS, acked=COUNTS),
    st.builds(Nack, run=IDS, first=COUNTS, n=COUNTS, why=TEXTS),
    st.builds(
        Welcome,
        run=IDS,
        hub=IDS,
        session=IDS,
        minor_version=st.integers(0, 65535),
        acked=COUNTS,
        ping_ms=st.integers(10, 60_000),
        max_batch=st.integers(1, MAX_BATCH_EVENTS),
    ),
    st.builds(
        Command,
        id=IDS,
        run=IDS,
        session=IDS,
        name=st.just("set_limits"),
        args=st.builds(
            SetLimits, metrics=st.just(["ram"]), limits=st.lists(LIMITS, min_size=1, max_size=3)
        ),
    ),
)


@given(EVENTS)
def test_every_event_survives_the_way_there(event: Any):
    assert decode_event(encode_event(event)) == event


@given(FROM_AGENT)
def test_what_an_agent_says_survives_the_way_there(message: Any):
    assert unpack_from_agent(pack(message)) == message


@given(TO_AGENT)
def test_what_a_hub_says_survives_the_way_back(message: Any):
    assert unpack_to_agent(pack(message)) == message


def test_desktop_messages_survive_both_ways():
    asked = CommandRequest(
        request_id=7, id=new_id(), run=new_id(), name="reload", session=new_id()
    )

    assert unpack_from_desktop(pack(asked)) == asked
    assert unpack_from_desktop(pack(RunsRequest(request_id=1))) == RunsRequest(request_id=1)
    assert unpack_to_desktop(pack(ChangeHint(head=3, change=4))) == ChangeHint(head=3, change=4)


def test_nan_in_keras_logs_stays_nan():
    event = EpochEnded(t_s=1.0, fit=1, epoch=0, seconds=1.0, logs={"loss": math.nan})

    told = decode_event(encode_event(event))

    assert isinstance(told, EpochEnded)
    assert math.isnan(told.logs["loss"])


def test_fields_of_a_newer_minor_version_are_ignored():
    body = msgspec.msgpack.encode({"type": "ping", "n": 3, "colour": "red"})

    assert unpack_to_agent((MAGIC, body)) == Ping(n=3)


@given(st.binary(max_size=200))
@settings(max_examples=300)
def test_any_bytes_are_a_message_or_a_protocol_error(body: bytes):
    for unpack in (unpack_from_agent, unpack_to_agent, unpack_from_desktop, unpack_to_desktop):
        _message_or_protocol_error(unpack, (MAGIC, body))


def _message_or_protocol_error(unpack: Any, frames: Any) -> None:
    try:
        unpack(frames)
    except ProtocolError:
        return


@pytest.mark.parametrize(
    "frames", [[], [MAGIC], [MAGIC, b"", b""], [b"KM2", b"\x80"], [b"\x80", MAGIC], [b"\x80"]]
)
def test_frames_that_are_not_magic_and_body_are_not_ours(frames: list[bytes]):
    with pytest.raises(BadFrames):
        unpack_to_agent(frames)


def test_an_unknown_type_is_told_apart_from_a_malformed_body():
    with pytest.raises(UnsupportedType) as unknown:
        unpack_to_agent((MAGIC, msgspec.msgpack.encode({"type": "x" * 300})))
    with pytest.raises(MalformedMessage):
        unpack_to_agent((MAGIC, msgspec.msgpack.encode({"type": "ping", "n": -1})))

    assert unknown.value.type_name == "x" * 64


def test_a_message_for_the_other_side_is_not_accepted():
    with pytest.raises(UnsupportedType):
        unpack_to_agent(pack(HubRequest(request_id=1)))


@pytest.mark.parametrize("shape", [b"\x91" * 100_000, b"\x81\xa1a" * 50_000 + b"\xc0"])
def test_deep_nesting_is_malformed_and_no_recursion_error(shape: bytes):
    with pytest.raises(MalformedMessage):
        unpack_to_agent((MAGIC, shape))
    with pytest.raises(MalformedMessage):
        unpack_to_agent((MAGIC, b"\x82\xa4type\xa4ping\xa1n" + shape))
    with pytest.raises(MalformedMessage):  # of a type that no one knows, too
        unpack_to_agent((MAGIC, b"\x82\xa4type\xa8teleport\xa1x" + shape))


def test_text_that_is_not_utf8_is_malformed():
    with pytest.raises(MalformedMessage):
        unpack_to_agent((MAGIC, b"\x81\xa4type\xa4\xff\xfe\xfd\xfc"))
    with pytest.raises(MalformedMessage):
        event_type(b"\x81\xa4type\xa4\xff\xfe\xfd\xfc")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("t_s", math.nan),
        ("t_s", math.inf),
        ("t_s", -1.0),
        ("fit", MAX_COUNT + 1),
        ("fit", True),
        ("ram_bytes", -1.0),
        ("ram_bytes", 1e19),
    ],
)
def test_numbers_out_of_bounds_are_malformed(field: str, value: object):
    body = msgspec.msgpack.encode({"type": "sample", "t_s": 0.0, field: value})

    with pytest.raises(MalformedMessage):
        decode_event(body)


@pytest.mark.parametrize("bad", ["", "a b", "../etc", "a" * 65, "ä", "a\n"])
def test_ids_are_short_and_plain(bad: str):
    with pytest.raises(MalformedMessage):
        unpack_to_agent(pack(Ack(run=bad, acked=1)))


def test_an_event_over_its_bound_is_refused_on_both_sides():
    huge = LimitsInForce(t_s=0.0, limits=[LimitSpec(metric="ram", set_by="x" * 70_000)])

    with pytest.raises(MessageTooLarge) as refused:
        encode_event(huge)
    with pytest.raises(MessageTooLarge):
        decode_event(bytes(MAX_EVENT_BYTES + 1))

    assert refused.value.n_bytes > refused.value.limit_bytes == MAX_EVENT_BYTES


def test_an_unknown_event_still_tells_its_type():
    body = msgspec.msgpack.encode({"type": "from_the_future", "t_s": 1.0})

    with pytest.raises(UnsupportedType):
        decode_event(body)

    assert event_type(body) == "from_the_future"


def test_an_event_without_a_type_is_malformed():
    with pytest.raises(MalformedMessage):
        event_type(msgspec.msgpack.encode({"t_s": 1.0}))
    with pytest.raises(MalformedMessage):
        decode_event(msgspec.msgpack.encode({"t_s": 1.0}))


def test_a_batch_has_bounds():
    too_many = Batch(run="r", session="b", first=1, events=[b"x"] * (MAX_BATCH_EVENTS + 1))
    empty = Batch(run="r", session="b", first=1, events=[])
    from_zero = Batch(run="r", session="b", first=0, events=[b"x"])

    for batch in (too_many, empty, from_zero):
        with pytest.raises(MalformedMessage):
            unpack_from_agent(pack(batch))


def test_defaults_are_left_out_of_the_bytes():
    assert len(encode_event(Sample(t_s=1.0))) < 30
    assert decode_event(encode_event(Notice(t_s=0.0, level="info", code="x", text="y"))) == Notice(
        t_s=0.0, level="info", code="x", text="y"
    )


def test_ids_are_random():
    assert len({new_id() for _ in range(100)}) == 100
    assert CommandProgress(t_s=0.0, id=new_id(), name="save", state="done").why == ""


def test_text_that_is_no_utf8_does_not_lose_its_event():
    told = EpochEnded(
        t_s=1.0, fit=1, epoch=0, seconds=1.0, logs={"m\udcff": math.inf, "loss": 2.0}
    )

    found = decode_event(encode_event(told))

    assert found == EpochEnded(
        t_s=1.0, fit=1, epoch=0, seconds=1.0, logs={"m?": math.inf, "loss": 2.0}
    )
