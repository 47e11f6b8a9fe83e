"""Call stacks of every thread, whole, and without a crash while the threads run on."""

import gc
import inspect
import subprocess
import sys
import threading
from pathlib import Path
from types import FrameType

import pytest

from kmonitor_agent.call_stacks import call_stacks, frame_locals
from tests.support.waiting import DEADLINE_S

ROOT = Path(__file__).parents[2]

GOING_ON = """
import gc, random, select, sys, threading, time
from kmonitor_agent.call_stacks import call_stacks

for n in range(12):
    names = ",".join(f"v{i}" for i in range(1 + 7 * n))
    exec(f"def call{n}(depth):\\n {names}, = {','.join(['depth'] * (1 + 7 * n))},\\n time.sleep(0)"
         "\\n return other()(depth - 1) if depth else select.poll().poll(0)")
calls = [globals()[f"call{n}"] for n in range(12)]

def other():
    return calls[random.randrange(12)]

def go_on():
    while True:
        other()(random.randrange(10))

class Finalized:
    def __del__(self):
        time.sleep(0.0003)  # the other threads' turn

for _ in range(3):
    threading.Thread(target=go_on, daemon=True).start()
gc.set_threshold(20, 1, 1)
sys.setswitchinterval(1e-5)
end = time.monotonic() + 10
while time.monotonic() < end:
    for _ in range(4):
        rubbish = Finalized()
        rubbish.itself = rubbish
    with call_stacks() as stacks:
        assert all(frame.f_code.co_name for stack in stacks.values() for frame in stack)
print("whole", flush=True)
"""
"""Calls of many sizes, so that one does not lie where the last one lay."""


def _outer(inner: threading.Event, leave: threading.Event) -> None:
    def waits() -> None:
        inner.set()
        leave.wait(DEADLINE_S)

    waits()


def test_every_thread_tells_its_calls_from_the_innermost_on():
    inner, leave = threading.Event(), threading.Event()
    thread = threading.Thread(target=_outer, args=(inner, leave))
    thread.start()
    inner.wait(DEADLINE_S)
    with call_stacks() as stacks:
        names = [frame.f_code.co_name for frame in stacks[thread.ident or 0]]
        own = [frame.f_code.co_name for frame in stacks[threading.get_ident()]]
    leave.set()
    thread.join()

    assert [name for name in names if name in {"waits", "_outer", "run"}] == [
        "waits",
        "_outer",
        "run",
    ]
    assert "test_every_thread_tells_its_calls_from_the_innermost_on" in own
    assert stacks == {}


@pytest.mark.parametrize("was_on", [True, False])
def test_collections_are_afterwards_as_the_script_had_them(was_on: bool):  # noqa: FBT001
    if not was_on:
        gc.disable()
    try:
        with pytest.raises(KeyError), call_stacks():
            raise KeyError
        assert gc.isenabled() is was_on
    finally:
        gc.enable()


def test_collections_stay_on_for_whoever_asks_meanwhile():
    with call_stacks() as stacks:
        frame = next(iter(stacks[threading.get_ident()]))
        with frame_locals(frame):
            is_on = gc.isenabled()

    assert is_on


@pytest.mark.full
@pytest.mark.skipif(sys.platform == "win32", reason="select.poll")
def test_threads_that_go_on_meanwhile_do_no_harm():
    words = [sys.executable, "-c", GOING_ON]
    done = subprocess.run(
        words, cwd=ROOT, capture_output=True, text=True, timeout=2 * DEADLINE_S, check=False
    )

    assert (done.returncode, done.stdout) == (0, "whole\n"), done.stderr


def test_no_call_is_kept_alive_by_reading_the_stacks():
    gc.collect()
    gc.disable()
    try:
        with call_stacks() as stacks:
            assert stacks
        kept = [each for each in gc.get_objects() if type(each) is FrameType]
    finally:
        gc.enable()

    ours = inspect.getsourcefile(call_stacks)
    assert not [each for each in kept if each.f_code.co_filename == ours]
