"""Requests that wait for a safe point: order, bounds, and who may take them."""

import threading

import pytest

from kmonitor_agent.limit_watch import LimitWatch
from kmonitor_agent.recording.action_requests import MOST_WAITING, ActionRequest, RequestQueue
from kmonitor_agent.wire.messages.commands import LimitSpec
from tests.support.waiting import DEADLINE_S


@pytest.fixture
def puts() -> list[bool]:
    return []


@pytest.fixture
def queue(puts: list[bool]) -> RequestQueue:
    return RequestQueue(lambda: puts.append(True))


def limit_request(value: float) -> ActionRequest:
    watch = LimitWatch(LimitSpec(metric="graph", value=value))
    return ActionRequest("reload", requested_by="limit", watch=watch)


def test_epoch_s_end_serves_all_in_order_and_a_batch_only_its_own(queue: RequestQueue):
    queue.put(ActionRequest("save"))
    queue.put(ActionRequest("collect", at="batch"))
    queue.put(ActionRequest("stop"))

    assert queue.waits("batch")
    assert queue.take("batch") == ActionRequest("collect", at="batch")
    assert queue.take("batch") is None
    assert [queue.take("epoch"), queue.take("epoch")] == [
        ActionRequest("save"),
        ActionRequest("stop"),
    ]
    assert queue.take("epoch") is None


def test_queue_is_bounded(queue: RequestQueue, puts: list[bool]):
    taken = [queue.put(ActionRequest("save")) for _ in range(MOST_WAITING + 1)]

    assert taken == [True] * MOST_WAITING + [False]
    assert len(puts) == MOST_WAITING


def test_two_limits_that_want_the_same_are_answered_once(queue: RequestQueue):
    assert queue.put(limit_request(5))
    assert not queue.put(limit_request(7))
    assert queue.put(ActionRequest("reload"))


def test_late_requests_are_taken_out(queue: RequestQueue):
    queue.put(ActionRequest("save", until_s=10.0))
    queue.put(ActionRequest("stop"))

    assert queue.take_expired(10.0) == []
    assert queue.take_expired(10.1) == [ActionRequest("save", until_s=10.0)]
    assert queue.holds("stop")
    assert queue.take_all() == [ActionRequest("stop")]
    assert not queue.holds("stop")


def test_waiting_thread_is_woken_by_a_put(queue: RequestQueue):
    assert queue.take_or_wait(0.0) is None
    found: list[ActionRequest | None] = []
    waiting = threading.Thread(target=lambda: found.append(queue.take_or_wait(60.0)))
    waiting.start()

    queue.put(ActionRequest("resume"))
    waiting.join(DEADLINE_S)

    assert found == [ActionRequest("resume")]
