"""Old frames are read for ever: one stored frame of every type, never written again."""

import msgspec
import pytest

from tests.support.golden_frames import FOLDER, Decode, kinds, path_of

KINDS = kinds()
IDS = [f"{side}-{kind.__struct_config__.tag}" for side, kind, _ in KINDS]


def test_every_type_has_a_stored_frame():
    paths = [path_of(side, kind) for side, kind, _ in KINDS]
    absent = [path.name for path in paths if not path.exists()]

    assert not absent, "write them: python -m tests.support.golden_frames"


def test_every_stored_frame_is_of_a_type_that_is_still_known():
    known = {path_of(side, kind).name for side, kind, _ in KINDS}

    assert {path.name for path in FOLDER.iterdir()} <= known


@pytest.mark.parametrize(("side", "kind", "decode"), KINDS, ids=IDS)
def test_a_stored_frame_is_read_with_every_field(side: str, kind: type, decode: Decode):
    body = path_of(side, kind).read_bytes()
    told = msgspec.msgpack.decode(body)

    found = decode(body)

    assert type(found) is kind
    read = msgspec.msgpack.decode(msgspec.msgpack.encode(found))
    assert _missing(told, read) == []


@pytest.mark.parametrize(("side", "kind", "decode"), KINDS, ids=IDS)
def test_fields_of_a_newer_version_are_passed_over(side: str, kind: type, decode: Decode):
    told = msgspec.msgpack.decode(path_of(side, kind).read_bytes())
    newer = msgspec.msgpack.encode({**told, "of_a_newer_version": {"x": [1, 2]}})

    assert type(decode(newer)) is kind


def _missing(told: object, read: object, where: str = "") -> list[str]:
    """Values that are not read as they were sent: a field renamed, removed or of another type."""
    if isinstance(told, dict) and isinstance(read, dict):
        return [
            each
            for key, value in told.items()
            for each in _missing(value, read.get(key), f"{where}.{key}")
        ]
    if isinstance(told, list) and isinstance(read, list) and len(told) == len(read):
        return [
            each
            for n, (one, other) in enumerate(zip(told, read, strict=True))
            for each in _missing(one, other, f"{where}[{n}]")
        ]
    return [] if told == read else [f"{where}: {told!r} became {read!r}"]
