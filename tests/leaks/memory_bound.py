"""A bound on the memory of this process, so that a script can run short of it on any machine."""

import atexit
import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tests.leaks import slowdowns
from tests.leaks.corpus import EXIT_SKIPPED
from tests.leaks.slowdowns import Slowdown

_CGROUPS: Final = Path("/sys/fs/cgroup")

MIB: Final = 2**20
N_BATCHES: Final = 80
BATCH_BYTES: Final = 2 * MIB
BOUND_BYTES: Final = 330 * MIB
"""Room for the batches' files and what is kept of some twenty epochs, not of forty."""

_KEPT_BYTES: Final = 6 * MIB


def train_beside_kept(head: Slowdown, read: Callable[[int], NDArray[np.uint8]]) -> None:
    """Train on files in random order, and keep something of each epoch unless FIXED.

    Args:
        head: Head of the script.
        read: Returns the bytes of a batch by its index, `[BATCH_BYTES]`.
    """
    keras: Any = importlib.import_module("keras")
    order = np.random.default_rng(1)
    kept: list[NDArray[np.uint8]] = []

    def batches() -> Iterator[Any]:
        while True:
            for index in order.permutation(N_BATCHES):
                with slowdowns.spent("input"):
                    x = read(index)[:: BATCH_BYTES // 2048].astype("float32").reshape(16, -1)
                yield x, np.ones((16, 1), "float32")

    def keep(epoch: int, logs: Any) -> None:
        del epoch, logs
        if not slowdowns.FIXED:
            kept.append(np.ones(_KEPT_BYTES, "uint8"))

    model = keras.Sequential([keras.Input((128,)), keras.layers.Dense(64), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(
        batches(),
        steps_per_epoch=N_BATCHES,
        epochs=slowdowns.units(head),
        verbose=0,
        callbacks=[keras.callbacks.LambdaCallback(on_epoch_end=keep), *slowdowns.watch()],
    )


def bound_memory(n_bytes: int) -> None:
    """Bound what this process takes from here on, pages of files included.

    Ends the script as skipped where it may make no control group; as a rule only root may.

    Args:
        n_bytes: In addition to what it has, which stays with the group that it leaves.
    """
    importlib.import_module("keras")  # what it takes is not bound
    try:
        controller, own = _own_group()
        parent, limit = (own, "memory.limit_in_bytes") if controller else (_CGROUPS, "memory.max")
        group = parent / f"kmonitor-{os.getpid()}"
        group.mkdir()
        atexit.register(_leave, group, own)
        (group / limit).write_text(str(n_bytes), encoding="ascii")
        (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
    except (OSError, LookupError) as exc:
        sys.stderr.write(f"skipped: no control group of its own can be made: {exc}\n")
        sys.exit(EXIT_SKIPPED)


def _own_group() -> tuple[str, Path]:
    """The controller, "memory" or empty in the second version, and this process's group."""
    lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    groups = {controllers: path for _, controllers, path in (line.split(":", 2) for line in lines)}
    for controller in ("memory", ""):
        if controller in groups:
            return controller, _CGROUPS / controller / groups[controller].lstrip("/")
    raise LookupError("this process is in none that bounds memory")


def _leave(group: Path, own: Path) -> None:
    with contextlib.suppress(OSError):
        (own / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")
        group.rmdir()
