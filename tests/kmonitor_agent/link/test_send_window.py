"""The window is kept, and a refused batch is halved down to the one event to blame."""

from hypothesis import given
from hypothesis import strategies as st

from kmonitor_agent.link.delivery import SendWindow
from kmonitor_agent.wire.messages.fields import MAX_BATCH_EVENTS, MAX_WINDOW_EVENTS


def test_no_more_than_the_window_is_sent_ahead():
    pace = SendWindow()
    pace.rewind(10, MAX_BATCH_EVENTS)
    sent = 0
    while pace.allowed():
        sent += pace.allowed()
        pace.sent(pace.allowed())

    assert sent == MAX_WINDOW_EVENTS
    pace.ack(15)
    assert pace.allowed() == 5


def test_a_hub_may_ask_for_smaller_batches_and_never_for_larger():
    pace = SendWindow()
    pace.rewind(0, 7)
    assert pace.allowed() == 7

    pace.rewind(0, 10**6)
    assert pace.allowed() == MAX_BATCH_EVENTS


def test_an_ack_from_before_a_rewind_moves_on():
    pace = SendWindow()
    pace.rewind(0, 10)
    pace.ack(40)

    assert pace.next_seq == 41


def test_a_refusal_of_what_is_done_or_not_sent_means_nothing():
    pace = SendWindow()
    pace.rewind(0, 10)
    pace.sent(10)
    pace.ack(10)

    assert pace.refused(1, 10) is None
    assert pace.refused(11, 4) is None
    assert pace.allowed() == 10


@given(st.integers(1, 200), st.sets(st.integers(1, 200), max_size=4), st.integers(1, 64))
def test_whatever_is_refused_everything_else_arrives(last: int, poison: set[int], batch: int):
    pace = SendWindow()
    pace.rewind(0, batch)
    blamed: list[int] = []
    arrived: list[int] = []
    for _ in range(5000):
        if pace.acked == last:
            break
        n = min(pace.allowed(), last + 1 - pace.next_seq)
        first = pace.next_seq
        pace.sent(n)
        numbers = range(first, first + n)
        if (poison - set(blamed)) & set(numbers):
            one = pace.refused(first, n)
            blamed += [] if one is None else [one]
        else:
            arrived += numbers
            pace.ack(first + n - 1)

    assert arrived == list(range(1, last + 1))
    assert set(blamed) == {p for p in poison if p <= last}


def test_the_search_goes_on_after_a_rewind():
    pace = SendWindow()
    pace.rewind(0, 1024)
    pace.sent(1024)
    pace.refused(1, 1024)
    pace.rewind(0, 1024)

    assert pace.allowed() == 512

    pace.rewind(1024, 1024)
    assert pace.allowed() == 1024
