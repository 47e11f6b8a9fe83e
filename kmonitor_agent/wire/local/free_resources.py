"""Free descriptors, threads and memory: tried rather than computed.

libzmq calls abort() where a descriptor, a thread or memory cannot be had while it makes its
context, its first socket or a connection. Nothing can catch that, so it must never meet scarcity:
we first hold everything that it takes for a moment, all of it at once and with room to spare. We
give that back right before libzmq takes it; between the two another thread would have to use up
the margin within microseconds.
"""

import contextlib
import mmap
import os
import threading
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

try:
    import resource
except ImportError:  # Windows has none
    resource = None

MIB: Final = 2**20
_STOP_S: Final = 10.0
"""Time that a probing thread may take to end, on a machine that is very busy; seconds."""


@dataclass(frozen=True, slots=True)
class RequiredResources:
    """Resources that have to be free.

    Attributes:
        descriptors: File descriptors.
        n_bytes: Address space.
    """

    descriptors: int
    threads: int
    n_bytes: int


def missing_resources(resources: RequiredResources) -> str:
    """Resources that are not free now, as text; empty if all are."""
    with contextlib.ExitStack() as held:
        try:
            for _ in range(resources.descriptors):
                held.callback(os.close, os.open(os.devnull, os.O_RDONLY))
        except OSError:
            return f"fewer than {resources.descriptors} file descriptors are free"
        try:
            held.enter_context(mmap.mmap(-1, resources.n_bytes))
            held.enter_context(_threads(resources.threads))
        except (OSError, MemoryError, ValueError):
            return f"less than {resources.n_bytes // MIB} MiB of memory is available"
        except RuntimeError:
            return f"fewer than {resources.threads} threads can be started"
    return ""


def is_memory_short(n_bytes: int) -> bool:
    """True if address space is bounded and this much cannot be had; takes microseconds."""
    if resource is None or resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return False
    try:
        mmap.mmap(-1, n_bytes).close()
    except (OSError, MemoryError, ValueError):
        return True
    return False


@contextlib.contextmanager
def _threads(n: int) -> Generator[None]:
    """Keep this number of threads alive for the block. Raises: RuntimeError."""
    over = threading.Event()
    threads: list[threading.Thread] = []
    try:
        for _ in range(n):
            thread = threading.Thread(target=over.wait, name="kmonitor-probe", daemon=True)
            thread.start()
            threads.append(thread)
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join(_STOP_S)
