"""Samples where `/proc` says nonsense or cannot be read: only that file's fields are absent."""

import builtins
import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from typing import Any

import msgspec
import pytest

from kmonitor_agent.recording.limit_enforcer import LimitEnforcer
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.recording.sampler import Sampler, SamplerTarget
from kmonitor_agent.wire.messages.events import Event, FieldSources, Sample

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="procfs")

RAM = {"ram_bytes", "ram_process_bytes"}
HOST = {"ram_of_bytes", "host_available_bytes"}
CGROUP = {"cgroup_limit_bytes", "ram_of_bytes"}

FIELDS = {
    "/proc/*/statm": RAM | {"ram_unique_bytes"},
    "/proc/*/status": {"ram_peak_bytes"},
    "/proc/*/smaps*": {"ram_unique_bytes"},
    "/proc/*/stat": {"ram_children_bytes", "ram_unique_bytes"},
    "/proc/*/children": set[str](),
    "/proc/meminfo": HOST,
    "/proc/*/cgroup": CGROUP,
    "/proc/*/mountinfo": CGROUP,
    "/sys/fs/cgroup/*": CGROUP,
    "/proc/*": RAM | HOST | CGROUP | {"ram_peak_bytes", "ram_unique_bytes", "ram_children_bytes"},
}
"""Files, and the fields that may be absent without them."""

NONSENSE = {
    "is empty": b"",
    "is binary": b"\xff\xfe\x00\xb2: \x00\n" * 40,
    "is negative": b"VmHWM: -5 kB\n-5 -5 -5\n0::/-5\nMemTotal: -5 kB\n" * 20,
    "is infinite": b"VmHWM: 1e400 kB\nnan inf 1e400\nMemTotal: inf kB\nMemFree: nan kB\n" * 20,
    "is huge": (b"9" * 400 + b" ") * 60 + b"\nVmHWM: " + b"9" * 400 + b" kB\n",
    "is beyond int": (b"9" * 5000 + b" ") * 60,
    "has no end of line": b"0" * 70_000,
}


@contextmanager
def replaced(pattern: str, answer: bytes | int, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files of this name hold the bytes, or cannot be opened with this error."""
    really: Callable[..., Any] = io.open

    def opened(file: Any, mode: str = "r", *args: Any, **named: Any) -> Any:
        name = os.fsdecode(file) if isinstance(file, str | bytes | os.PathLike) else ""
        if not fnmatch(name, pattern):
            return really(file, mode, *args, **named)
        if isinstance(answer, int):
            raise OSError(answer, os.strerror(answer), name)
        raw = io.BytesIO(answer)
        return raw if "b" in mode else io.TextIOWrapper(raw, encoding="utf-8")

    with monkeypatch.context() as patched:
        patched.setattr(io, "open", opened)
        patched.setattr(builtins, "open", opened)
        yield


def sampled() -> tuple[Sample, dict[str, str]]:
    """A sample with all that is read slowly, and the reasons for what it lacks."""
    events: list[Event] = []
    sampler = Sampler(
        current_target=SamplerTarget,
        emit=events.append,
        limits=LimitEnforcer(emit=events.append, request=lambda _: True, now_s=lambda: 1.0),
        now_s=lambda: 1.0,
        privacy=Privacy(private=False),
    )
    sampler.begin(lambda _, work: work(), 1.0)
    [sample] = [event for event in events if isinstance(event, Sample)]
    [sources] = [event for event in events if isinstance(event, FieldSources)]
    return sample, {each.field: each.absent for each in sources.sources if each.absent}


def absent_fields(sample: Sample) -> set[str]:
    names = {name for fields in FIELDS.values() for name in fields}
    return {name for name in names if getattr(sample, name) is None}


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
@pytest.mark.parametrize("pattern", FIELDS)
def test_a_sample_lacks_only_the_fields_of_a_file_that_says_nonsense(
    pattern: str, answer: bytes, monkeypatch: pytest.MonkeyPatch
):
    usual = absent_fields(sampled()[0])

    with replaced(pattern, answer, monkeypatch):
        sample, reasons = sampled()

    absent = absent_fields(sample)
    assert absent - usual <= FIELDS[pattern]
    assert absent <= reasons.keys()
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(sample), type=Sample) == sample


@pytest.mark.parametrize(
    "error", [errno.EACCES, errno.EIO, errno.ENOENT, errno.EMFILE], ids=os.strerror
)
@pytest.mark.parametrize("pattern", FIELDS)
def test_a_sample_lacks_only_the_fields_of_a_file_that_cannot_be_read(
    pattern: str, error: int, monkeypatch: pytest.MonkeyPatch
):
    usual = absent_fields(sampled()[0])

    with replaced(pattern, error, monkeypatch):
        sample, reasons = sampled()

    absent = absent_fields(sample)
    assert absent - usual <= FIELDS[pattern]
    assert absent <= reasons.keys()
