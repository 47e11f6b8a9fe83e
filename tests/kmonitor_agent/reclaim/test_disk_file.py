"""Work beside the training thread is done when the block is left, whatever happened in it."""

import threading

import pytest

from kmonitor_agent.reclaim.disk_file import BackgroundTask
from tests.support.waiting import DEADLINE_S


def test_work_runs_while_the_block_runs_and_gives_its_result():
    begun, may_end = threading.Event(), threading.Event()

    def work() -> str:
        begun.set()
        may_end.wait(DEADLINE_S)
        return threading.current_thread().name

    with BackgroundTask(work) as done:
        assert begun.wait(DEADLINE_S)
        may_end.set()

    assert done.result() == "kmonitor-disk"
    assert not [each for each in threading.enumerate() if each.name == "kmonitor-disk"]


def test_what_the_work_raises_comes_with_its_result():
    def work() -> None:
        raise OSError("disk failed")

    with BackgroundTask(work) as done:
        pass

    with pytest.raises(OSError, match="disk failed"):
        done.result()


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_a_block_that_raises_is_left_when_the_work_is_done(kind: type[BaseException]):
    may_end = threading.Event()
    done: list[bool] = []

    def work() -> None:
        may_end.wait(DEADLINE_S)
        done.append(True)

    def act() -> None:
        with BackgroundTask(work, end=may_end.set):
            raise kind

    with pytest.raises(kind):
        act()

    assert done == [True]


def test_where_no_thread_can_start_the_work_is_done_all_the_same(monkeypatch: pytest.MonkeyPatch):
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)

    came: list[int] = []
    with BackgroundTask(lambda: sum(came)) as done:
        came.append(7)

    assert done.result() == 7
