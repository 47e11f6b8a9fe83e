"""A crowd that requests rows at once: each has its turn, and short pages."""

import pytest

from kmonitor.hub.views.viewers import MOST_OF_ONE, TURN_S, RowsQueue
from kmonitor_agent.wire.messages.unions import RowsRequest
from tests.support.clock import MovedClock


class Crowd:
    """A queue whose answers take some time each; `answered` is (who, request id, limit)."""

    def __init__(self, takes_s: float) -> None:
        self.clock = MovedClock()
        self.answered: list[tuple[bytes, int, int]] = []
        self._takes_s = takes_s
        self.queue = RowsQueue(self._answer, self.clock)

    def _answer(self, identity: bytes, request: RowsRequest) -> None:
        self.answered.append((identity, request.request_id, request.limit))
        self.clock.move(self._takes_s)

    def ask(self, who: bytes, number: int = 1) -> None:
        self.queue.put(who, RowsRequest(request_id=number, cursor=0, limit=1000))

    def serve_all(self) -> int:
        turns = 0
        while self.queue:
            self.queue.serve()
            turns += 1
        return turns


def test_who_asks_alone_is_answered_at_once_with_a_whole_page():
    crowd = Crowd(TURN_S / 4)
    crowd.ask(b"a")

    assert crowd.answered == [(b"a", 1, 1000)]


def test_a_turn_ends_and_the_others_wait_for_the_next():
    crowd = Crowd(TURN_S / 4)
    for n in range(10):
        crowd.ask(b"%d" % n)

    assert len(crowd.answered) == 4
    assert crowd.serve_all() == 2
    assert [who for who, _, _ in crowd.answered] == [b"%d" % n for n in range(10)]


def test_each_is_answered_once_before_anybody_twice():
    crowd = Crowd(TURN_S)
    crowd.ask(b"first")
    for number in (1, 2, 3):
        crowd.ask(b"greedy", number)
    crowd.ask(b"late")
    crowd.serve_all()

    assert [who for who, _, _ in crowd.answered] == [
        b"first",
        b"greedy",
        b"late",
        b"greedy",
        b"greedy",
    ]


def test_pages_are_shorter_the_more_wait():
    crowd = Crowd(TURN_S)
    for n in range(101):
        crowd.ask(b"%d" % n)
    crowd.serve_all()

    limits = [limit for _, _, limit in crowd.answered]
    assert limits[0] == 1000
    assert limits[1:4] == [50, 50, 50]
    assert limits[-1] == 1000


def test_a_request_that_is_repeated_is_answered_once_and_too_many_are_dropped():
    crowd = Crowd(TURN_S)
    crowd.ask(b"first")
    for number in range(2 * MOST_OF_ONE):
        for _ in range(2):
            crowd.ask(b"greedy", number)
    crowd.serve_all()

    numbers = [number for who, number, _ in crowd.answered if who == b"greedy"]
    assert numbers == list(range(MOST_OF_ONE, 2 * MOST_OF_ONE))


def test_who_is_gone_is_not_answered():
    crowd = Crowd(TURN_S)
    crowd.ask(b"first")
    crowd.ask(b"gone")
    crowd.queue.forget(b"gone")
    crowd.queue.forget(b"never seen")
    crowd.serve_all()

    assert [who for who, _, _ in crowd.answered] == [b"first"]


@pytest.mark.parametrize("limit", [1, 20])
def test_no_page_is_longer_than_was_asked_for(limit: int):
    crowd = Crowd(TURN_S)
    crowd.ask(b"first")
    crowd.queue.put(b"a", RowsRequest(request_id=1, cursor=0, limit=limit))
    crowd.serve_all()

    assert crowd.answered[-1] == (b"a", 1, limit)
