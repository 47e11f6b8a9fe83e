"""Names of what is counted: open descriptors, threads, children and blocks of shared memory.

They are read on the agent's thread, once at first and then only while a number rises, after a
pause that is a multiple of the time which the last reading took.
"""

import math
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path, PurePath
from typing import Final

from kmonitor_agent.frameworks.script_values import (
    instance_dict,
    is_instance,
    items_of,
    safe_count,
    safe_getattr,
    safe_text,
)
from kmonitor_agent.probes.held_memory import FAILURES
from kmonitor_agent.probes.open_files import describe_open_files
from kmonitor_agent.probes.process_memory import ProcessMemory
from kmonitor_agent.probes.resources import Resources, working_folder
from kmonitor_agent.probes.tasks import describe_processes, describe_threads
from kmonitor_agent.recording.fit import Fit
from kmonitor_agent.recording.privacy import Privacy
from kmonitor_agent.wire.messages.events import Event, NamedResource, ResourcesNamed

_REST: Final = 5000.0
"""Pause after reading names, as a multiple of its time: a fiftieth of a hundredth of a core."""

_RISEN: Final = 0.02
"""Part by which a number must have risen for its names to be read again."""

_MOST_NAMED: Final = 32
_LONGEST_NAME: Final = 120
_NUMBERS: Final = re.compile(r"[0-9]+")
_FEW: Final = 3
"""So many files of one folder whose names have nothing in common are named by their folder."""

Found = Counter[tuple[str, str]]


class ResourceReporter:
    """Reports names; owned by the agent's thread."""

    def __init__(
        self,
        memory: ProcessMemory,
        resources: Resources,
        *,
        emit: Callable[[Event], None],
        now_s: Callable[[], float],
        privacy: Privacy,
    ) -> None:
        """Begin with nothing named.

        Args:
            memory: Knows the children.
            resources: Knows the blocks of shared memory.
            emit: Takes events.
            now_s: Seconds since the session started.
            privacy: What to hide.
        """
        self._emit = emit
        self._now_s = now_s
        self._privacy = privacy
        self._readers: dict[str, tuple[str, Callable[[], Found]]] = {
            "open_files": ("open_files", describe_open_files),
            "threads": ("threads", lambda: describe_threads(_python_threads())),
            "processes": ("processes", lambda: describe_processes(*memory.children())),
            "shared_memory": ("shared_memory_bytes", partial(_blocks, resources)),
        }
        self._named_at: dict[str, float] = {}
        self._reads_at_s = dict.fromkeys(self._readers, -math.inf)

    def report(self, values: Mapping[str, float | None]) -> None:
        """Read and report names of what has risen.

        Args:
            values: Of a sample's fields.
        """
        for metric, (field, read) in self._readers.items():
            value = values.get(field)
            if value is None or time.monotonic() < self._reads_at_s[metric]:
                continue
            before = self._named_at.get(metric)
            if before is None or value > before + _RISEN * before:
                self._named_at[metric] = value
                self._read(metric, read)
            elif value < before:
                self._named_at[metric] = value

    def _read(self, metric: str, read: Callable[[], Found]) -> None:
        began_s = time.thread_time()
        try:
            named = named_resources(read())
        except FAILURES:
            self._reads_at_s[metric] = math.inf  # no procfs: numbers alone are known
            return
        self._reads_at_s[metric] = time.monotonic() + _REST * (time.thread_time() - began_s)
        hidden = [
            NamedResource(each.kind, self._privacy.name(each.name), each.count) for each in named
        ]
        self._emit(ResourcesNamed(t_s=self._now_s(), metric=metric, named=hidden))


def named_resources(found: Found) -> list[NamedResource]:
    """The most numerous kinds and names, numbers in names replaced by "*".

    Args:
        found: Kind and name of each, with how many are the same.
    """
    here = working_folder()
    patterns: Found = Counter()
    for (kind, name), count in found.items():
        patterns[kind, _pattern(name, here)] += count
    return [
        NamedResource(kind, name[:_LONGEST_NAME], count)
        for (kind, name), count in _by_folder(patterns).most_common(_MOST_NAMED)
    ]


def _pattern(name: str, here: Path | None) -> str:
    path = PurePath(name)
    if here is not None and path.is_absolute() and path.is_relative_to(here):
        name = str(path.relative_to(here))
    return _NUMBERS.sub("*", name)


def _by_folder(patterns: Found) -> Found:
    """Names of one folder that have nothing in common become the folder's."""
    singles: Counter[tuple[str, str]] = Counter()
    for (kind, name), count in patterns.items():
        if count == 1 and "/" in name:
            singles[kind, name.rpartition("/")[0]] += 1
    merged: Found = Counter()
    for (kind, name), count in patterns.items():
        folder = name.rpartition("/")[0]
        is_merged = count == 1 and singles[kind, folder] >= _FEW
        merged[kind, f"{folder}/*" if is_merged else name] += count
    return merged


def _python_threads() -> dict[int, str]:
    """Names of Python's threads by the system's number; none of the script's code is asked."""
    names: dict[int, str] = {}
    for thread in threading.enumerate():
        values = instance_dict(thread)
        number = safe_count(values.get("_native_id"))
        if number is not None:
            names[number] = safe_text(values.get("_name"))
    return names


def _blocks(resources: Resources) -> Found:
    names = resources.shared_blocks.names
    return Counter(("block", f"/dev/shm/{name}") for name in names)  # noqa: S108


_FOLDERS_OF: Final = ("filepath", "backup_dir", "filename", "log_dir")
"""Attributes of Keras' callbacks that write, those that write most first."""


def checkpoint_folder(fit: Fit | None) -> Path | None:
    """Where the callbacks of a fit write, their checkpoints first; None: nowhere that is known.

    Args:
        fit: That runs.
    """
    token = None if fit is None else fit.origin.callback_list()
    callbacks = items_of(instance_dict(token).get("callbacks"))
    for name in _FOLDERS_OF:
        for callback in callbacks:
            path = safe_getattr(callback, name)
            if is_instance(path, str, PurePath) and (text := safe_text(path)):
                try:
                    return Path(text).absolute().parent
                except OSError:  # the working folder is gone
                    return None
    return None
