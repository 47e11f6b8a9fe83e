"""Functions of folds that behave and that do not; each is the whole of what a fold does."""

import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import shared_memory
from typing import Any

from typing_extensions import override

from kmonitor_agent import Fold
from kmonitor_agent.wire.local.supervision import RESTART_STATUS, RestartRequest, find_supervision

LITTLE = 16 * 2**20


def told(fold: Fold) -> dict[str, Any]:
    """A fold's knowledge of itself."""
    (fold.directory / "note").write_text("kept")
    return {"index": fold.index, "seed": fold.seed, "attempt": fold.attempt, "pid": os.getpid()}


def nothing(fold: Fold) -> None:
    """Does nothing."""


def take_and_wait(fold: Fold) -> None:
    """Takes 1 GiB, notes after how many seconds of its life it had half of it, and waits."""
    began_s = time.monotonic()
    kept: list[bytearray] = []
    while len(kept) < 64:
        kept.append(bytearray(b"x") * LITTLE)
        if len(kept) == 33:
            (fold.directory / "crossed").write_text(str(time.monotonic() - began_s))
    threading.Event().wait()


def drawn(fold: Fold, scale: float = 1.0) -> list[float]:
    """Random numbers, as they are seeded."""
    import random  # noqa: PLC0415 - as a function of a user's may

    import numpy as np  # noqa: PLC0415

    return [fold.index, scale * random.random(), float(np.random.random())]  # noqa: S311


def split(fold: Fold) -> tuple[int, int]:
    """Sums of its indices."""
    return int(fold.train.sum()), int(fold.test.sum())


def by_index(fold: Fold) -> Any:
    """Fold 0 behaves, each other one ends in its own way."""
    return WAYS[fold.index](fold)


def leak(fold: Fold) -> None:
    """Takes memory for ever."""
    kept: list[bytearray] = []
    while True:
        kept.append(bytearray(os.urandom(LITTLE)))


def leak_in_child(fold: Fold) -> None:
    """A process that it starts takes memory for ever."""
    text = "kept = []\nwhile True: kept.append(bytearray(b'x') * 2**24)"
    subprocess.run([sys.executable, "-c", text], check=True)


def lose_child(fold: Fold) -> None:
    """A process that it starts is killed."""
    text = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    subprocess.run([sys.executable, "-c", text], check=True)


def out_of_address_space(fold: Fold) -> None:
    """Requests more than a limit of the system's lets it have."""
    resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
    bytearray(2**32)


def fail(fold: Fold) -> None:
    """Raises."""
    raise ValueError(f"no luck with fold {fold.index}")


def segfault(fold: Fold) -> None:
    """Reaches for memory that is not its own."""
    os.kill(os.getpid(), signal.SIGSEGV)


def be_killed(fold: Fold) -> None:
    """Is killed from outside."""
    os.kill(os.getpid(), signal.SIGKILL)


def be_interrupted(fold: Fold) -> None:
    """Gets its own Ctrl+C."""
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait()


def return_lock(fold: Fold) -> Any:
    """Returns what is no plain data."""
    return {"model": threading.Lock()}


def print_much(fold: Fold) -> str:
    """Prints 40 MiB."""
    line = "x" * 2**16
    for _ in range(640):
        print(line)  # noqa: T201
    print("the last line")  # noqa: T201
    return "printed"


class Unspeakable(Exception):
    """An error whose text cannot be read."""

    @override
    def __str__(self) -> str:
        """Fails."""
        raise RuntimeError("no text")


def fail_without_text(fold: Fold) -> None:
    """Raises an error that cannot be sent."""
    raise Unspeakable


def leave(fold: Fold) -> None:
    """Leaves on its own."""
    os._exit(4)


def wait(fold: Fold) -> None:
    """Does nothing, for ever."""
    threading.Event().wait()


def hang(fold: Fold) -> None:
    """Stops after some steps."""
    for _ in range(4):
        fold.step(of=100)
        threading.Event().wait(0.3)
    threading.Event().wait()


def be_killed_once(fold: Fold) -> int:
    """Is killed at the first attempt."""
    if fold.attempt == 1:
        be_killed(fold)
    return fold.attempt


def wait_for_each_other(fold: Fold) -> str:
    """Comes back once two folds run at the same time; the GPUs that it sees."""
    met = fold.directory.parent / "met"
    met.mkdir(exist_ok=True)
    (met / str(fold.index)).touch()
    while len(list(met.iterdir())) < 2:
        threading.Event().wait(0.02)
    return os.environ["CUDA_VISIBLE_DEVICES"]


def count_each_other(fold: Fold) -> int:
    """Number of folds that ran at the same time, itself included."""
    met = fold.directory.parent / "running"
    met.mkdir(exist_ok=True)
    mine = met / str(fold.index)
    mine.touch()
    threading.Event().wait(0.3)
    count = len(list(met.iterdir()))
    mine.unlink()
    return count


def leave_once(fold: Fold) -> str:
    """Leaves as a limit's restart does, and is started again."""
    supervision = find_supervision(os.environ)
    if supervision is not None and supervision.previous_request() is None:
        supervision.leave(RestartRequest(run="made-up"))
        sys.exit(RESTART_STATUS)
    return f"went on at try {fold.attempt}"


def wait_with_others(fold: Fold) -> None:
    """Holds shared memory and a process that left its group, reports it, and waits for ever."""
    shared = shared_memory.SharedMemory(create=True, size=2**20)
    sleeper = subprocess.Popen(
        [sys.executable, "-c", "import threading; threading.Event().wait()"],
        start_new_session=True,
    )
    (fold.directory / "told.new").write_text(f"{os.getpid()} {sleeper.pid} {shared.name}")
    (fold.directory / "told.new").rename(fold.directory / "told")
    threading.Event().wait()


WAYS = (
    told,
    fail,
    segfault,
    be_killed,
    be_interrupted,
    return_lock,
    print_much,
    leave,
    out_of_address_space,
    fail_without_text,
)


def remove_study(fold: Fold) -> int:
    """Fold 1 removes all that the study keeps."""
    if fold.index == 1:
        shutil.rmtree(fold.directory.parent)
    return fold.index
