"""Tasks run at their interval, less often when they cost too much, and never stop the others."""

import pytest

from kmonitor_agent.link.timing import LONGEST_INTERVAL_S, TaskSchedule


class _Cpu:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def _schedule() -> tuple[TaskSchedule, _Cpu, list[tuple[str, Exception]]]:
    cpu, errors = _Cpu(), []
    return TaskSchedule(lambda where, exc: errors.append((where, exc)), cpu), cpu, errors


def test_a_task_runs_at_once_and_then_at_its_interval():
    schedule, _, _ = _schedule()
    ran: list[float] = []
    schedule.add(1.0, lambda: ran.append(1))
    schedule.run_due(100.0)
    schedule.run_due(100.5)

    assert len(ran) == 1
    assert schedule.wait_s(100.5) == 0.5

    schedule.run_due(101.02)
    assert len(ran) == 2
    assert abs(schedule.wait_s(101.02) - 0.98) < 1e-9


def test_tasks_that_are_due_soon_after_each_other_share_a_turn_and_keep_their_rate():
    schedule, _, _ = _schedule()
    ran: list[str] = []
    schedule.add(1.0, lambda: ran.append("first"))
    schedule.run_due(100.0)
    schedule.add(1.0, lambda: ran.append("second"))
    schedule.run_due(100.01)
    ran.clear()

    now_s = 100.01
    for _ in range(5):
        now_s += schedule.wait_s(now_s)
        schedule.run_due(now_s)

    assert ran == ["first", "second"] * 5
    assert now_s == pytest.approx(105.0)


def test_after_a_long_stop_it_runs_once_and_not_for_each_interval_missed():
    schedule, _, _ = _schedule()
    ran: list[int] = []
    schedule.add(1.0, lambda: ran.append(1))
    schedule.run_due(100.0)
    schedule.run_due(160.0)
    schedule.run_due(160.1)

    assert len(ran) == 2
    assert abs(schedule.wait_s(160.1) - 0.9) < 1e-9


def test_a_costly_task_runs_less_often_but_its_first_call_is_forgiven():
    schedule, cpu, _ = _schedule()
    costs = iter([1.0, 0.02, 0.02, 5.0, 5.0])

    def task() -> None:
        cpu.now_s += next(costs)

    schedule.add(1.0, task)
    schedule.run_due(0.0)
    assert schedule.wait_s(0.0) == 1.0
    schedule.run_due(1.0)
    assert schedule.wait_s(1.0) == pytest.approx(4.0)
    schedule.run_due(5.1)
    schedule.run_due(9.2)
    schedule.run_due(13.3)
    assert schedule.wait_s(13.3) == pytest.approx(LONGEST_INTERVAL_S, abs=1)


def test_a_task_that_raises_is_told_of_and_stays():
    schedule, _, errors = _schedule()
    ran: list[int] = []

    def broken() -> None:
        ran.append(1)
        raise ZeroDivisionError

    schedule.add(1.0, broken)
    schedule.add(1.0, lambda: ran.append(2))
    schedule.run_due(0.0)
    schedule.run_due(1.0)

    assert ran == [1, 2, 1, 2]
    assert len(errors) == 2
    assert "broken" in errors[0][0]


def test_without_tasks_there_is_nothing_to_wait_for():
    schedule, _, _ = _schedule()

    assert schedule.wait_s(5.0) == float("inf")
