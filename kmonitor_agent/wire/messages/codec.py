"""Bytes to messages and events and back; every failure is a `ProtocolError`."""

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import msgspec

from kmonitor_agent.wire.messages.events import AnyEvent, Event
from kmonitor_agent.wire.messages.fields import MAGIC, MAX_EVENT_BYTES, Text, read_clamped
from kmonitor_agent.wire.messages.unions import FromAgent, FromDesktop, ToAgent, ToDesktop


class ProtocolError(Exception):
    """Base class for invalid data from a peer."""


class BadFrames(ProtocolError):
    """The frames do not start with our magic, or are not exactly two."""


class MalformedMessage(ProtocolError):
    """The body is not a message or event of this protocol.

    Attributes:
        why: The decoder's message, for the log; never shown as advice to a user.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class UnsupportedType(ProtocolError):
    """A well-formed map whose `type` this version does not know.

    Attributes:
        type_name: The unknown tag, at most 64 characters of it.
    """

    def __init__(self, type_name: str) -> None:
        super().__init__(type_name)
        self.type_name = type_name[:64]


class MessageTooLarge(ProtocolError):
    """An event or message over its bound.

    Attributes:
        n_bytes: Its size, bytes.
        limit_bytes: The bound, bytes.
    """

    def __init__(self, n_bytes: int, limit_bytes: int) -> None:
        super().__init__(f"{n_bytes} bytes, but the limit is {limit_bytes}")
        self.n_bytes = n_bytes
        self.limit_bytes = limit_bytes


T = TypeVar("T")


class _Tagged(msgspec.Struct):
    """Only the tag, to distinguish an unknown type from a malformed body."""

    type: Text


class _Named(msgspec.Struct):
    """Only the run, of an otherwise invalid message."""

    run: str = ""


_encoder: Final = msgspec.msgpack.Encoder()
_events: Final = msgspec.msgpack.Decoder(AnyEvent)
_tagged: Final = msgspec.msgpack.Decoder(_Tagged)
_named: Final = msgspec.msgpack.Decoder(_Named)
_from_agent: Final = msgspec.msgpack.Decoder(FromAgent)
_to_agent: Final = msgspec.msgpack.Decoder(ToAgent)
_from_desktop: Final = msgspec.msgpack.Decoder(FromDesktop)
_to_desktop: Final = msgspec.msgpack.Decoder(ToDesktop)


def encode_event(event: Event) -> bytes:
    """An event as msgpack that every hub accepts.

    Invalid UTF-8 in its texts (of a file's name) becomes "?"; a number, text or list out of its
    bounds becomes the nearest within them (`fields.read_clamped`).

    Raises:
        MessageTooLarge: Over `MAX_EVENT_BYTES`.
        msgspec.MsgspecError, TypeError: It is no event of ours.
    """
    try:
        body = _encoder.encode(event)
        if len(body) <= MAX_EVENT_BYTES:
            # A decode costs a microsecond, a refused event all that it says.
            _events.decode(body)
    except (UnicodeEncodeError, OverflowError, msgspec.ValidationError):
        plain = _with_plain_texts(msgspec.to_builtins(event, builtin_types=(bytes,)))
        body = _encoder.encode(read_clamped(type(event), plain))
    if len(body) > MAX_EVENT_BYTES:
        raise MessageTooLarge(len(body), MAX_EVENT_BYTES)
    return body


def _with_plain_texts(value: Any) -> Any:
    # As long as before: whoever made the event has cut its texts to what the protocol allows.
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_with_plain_texts(k): _with_plain_texts(v) for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_with_plain_texts(each) for each in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def decode_event(body: bytes) -> AnyEvent:
    """An event from msgpack.

    Raises:
        UnsupportedType: A type of a newer version.
        MalformedMessage: Anything else that is no event.
        MessageTooLarge: Over `MAX_EVENT_BYTES`.
    """
    if len(body) > MAX_EVENT_BYTES:
        raise MessageTooLarge(len(body), MAX_EVENT_BYTES)
    return _decode(_events, body)


def event_type(body: bytes) -> str:
    """The `type` tag of an encoded event, known or not.

    Raises:
        MalformedMessage: The bytes are no tagged map.
    """
    return _decode(_tagged, body).type


def run_id_in(body: bytes) -> str:
    """The run that invalid bytes name, to identify their sender; empty if they name none."""
    try:
        return _named.decode(body).run[:64]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return ""


def check_unknown_event(body: bytes) -> None:
    """Check that an event of an unknown type can be read as plain data, and shown as such.

    Raises:
        MalformedMessage: It cannot.
    """
    try:
        msgspec.json.encode(msgspec.msgpack.decode(body, type=dict[str, Any]))
    except (msgspec.MsgspecError, RecursionError, ValueError, TypeError) as exc:
        raise MalformedMessage(f"not plain data: {exc}") from exc


def pack(message: msgspec.Struct) -> tuple[bytes, bytes]:
    """A message as the two frames that go on a socket: magic and body."""
    return MAGIC, _encoder.encode(message)


def unpack_from_agent(frames: Sequence[bytes]) -> FromAgent:
    """A message from an agent (frames without the routing identity). Raises: `ProtocolError`."""
    return _decode(_from_agent, _body(frames))


def unpack_to_agent(frames: Sequence[bytes]) -> ToAgent:
    """A message from a hub to an agent. Raises: `ProtocolError`."""
    return _decode(_to_agent, _body(frames))


def unpack_from_desktop(frames: Sequence[bytes]) -> FromDesktop:
    """A message from a desktop (frames without the routing identity). Raises: `ProtocolError`."""
    return _decode(_from_desktop, _body(frames))


def unpack_to_desktop(frames: Sequence[bytes]) -> ToDesktop:
    """A message from a hub to a desktop. Raises: `ProtocolError`."""
    return _decode(_to_desktop, _body(frames))


def _body(frames: Sequence[bytes]) -> bytes:
    if len(frames) != 2 or frames[0] != MAGIC:  # noqa: PLR2004 - magic and body
        raise BadFrames
    return frames[1]


def _decode(decoder: "msgspec.msgpack.Decoder[T]", body: bytes) -> T:
    try:
        return decoder.decode(body)
    except RecursionError as exc:
        # Deep nesting raises this instead of a DecodeError.
        raise MalformedMessage("nested too deeply") from exc
    except msgspec.MsgspecError as exc:
        _raise_if_unsupported(decoder, body)
        raise MalformedMessage(str(exc)) from exc
    except UnicodeDecodeError as exc:
        raise MalformedMessage("text is not UTF-8") from exc


def _raise_if_unsupported(decoder: "msgspec.msgpack.Decoder[Any]", body: bytes) -> None:
    if decoder is _tagged:
        return
    try:
        tag = _tagged.decode(body).type
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return
    known = {t.__struct_config__.tag for t in decoder.type.__args__}
    if tag not in known:
        raise UnsupportedType(tag)
