"""Readings that wait until they have cost less than a part of a core."""

import pytest

from kmonitor_agent.probes import pacing
from kmonitor_agent.probes.pacing import Paced


class Costly:
    """A reading that takes a hundredth of a second of a made-up clock."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, values: list[float]) -> None:
        self.now_s = 0.0
        self.cpu_s = 0.0
        self.values = values
        monkeypatch.setattr(pacing.time, "monotonic", lambda: self.now_s)
        monkeypatch.setattr(pacing.time, "thread_time", lambda: self.cpu_s)

    def read(self) -> float:
        self.cpu_s += 0.01
        return self.values.pop(0)

    def each_second(self, paced: Paced[float], seconds: int) -> list[float]:
        read: list[float] = []
        for _ in range(seconds):
            read.append(paced.newest())
            self.now_s += 1.0
        return read


def test_reading_is_repeated_as_rarely_as_its_cost_requires(monkeypatch: pytest.MonkeyPatch):
    costly = Costly(monkeypatch, [1.0, 2.0, 3.0])

    read = costly.each_second(Paced(costly.read, 0.0025), 9)

    assert read == [1.0] * 4 + [2.0] * 4 + [3.0]


def test_reading_that_changes_is_repeated_sooner(monkeypatch: pytest.MonkeyPatch):
    costly = Costly(monkeypatch, [1.0, 2.0, 3.0, 3.0, 4.0])

    read = costly.each_second(Paced(costly.read, 0.0025, while_changing=0.01), 11)

    assert read == [1.0] * 4 + [2.0, 3.0] + [3.0] * 4 + [4.0]


def test_hint_of_a_change_ends_the_longer_pause(monkeypatch: pytest.MonkeyPatch):
    costly = Costly(monkeypatch, [1.0, 2.0, 3.0])
    paced = Paced(costly.read, 0.001, while_changing=0.005)
    costly.each_second(paced, 1)

    paced.hasten()

    assert costly.each_second(paced, 3) == [1.0, 2.0, 2.0]
