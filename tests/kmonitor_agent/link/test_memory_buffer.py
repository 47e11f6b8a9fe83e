"""Events that the disk refused are held; the oldest samples go first, epochs never."""

from kmonitor_agent.link.outbox import MemoryBuffer, drop_rank
from kmonitor_agent.wire.messages.events import GraphSize
from kmonitor_agent.wire.spool.format import SpoolRecord
from tests.support.links import epoch, sample, session_started


def test_samples_go_before_graph_sizes_and_nothing_else_goes():
    graph = GraphSize(t_s=0.0, fit=1, epoch=0, operations=1, traces=1, functions=1)

    assert (
        drop_rank(sample())
        < drop_rank(graph)
        < drop_rank(epoch(1))
        == drop_rank(session_started())
    )


def test_the_oldest_of_the_lowest_rank_makes_room():
    ring = MemoryBuffer(limit_bytes=40)
    for seq, rank in enumerate([2, 0, 1, 0, 0, 2], 1):
        ring.add(SpoolRecord(seq, b"0123456789"), rank)

    assert [r.seq for r in ring.records()] == [1, 3, 5, 6]
    assert (ring.dropped, ring.n_bytes, len(ring)) == (2, 40, 4)

    for seq in (7, 8, 9):
        ring.add(SpoolRecord(seq, b"0123456789"), 2)
    assert [r.seq for r in ring.records()] == [1, 6, 7, 8, 9]


def test_bodies_are_found_by_number_until_they_are_let_go():
    ring = MemoryBuffer()
    ring.add(SpoolRecord(3, b"three"), 0)
    ring.add(SpoolRecord(4, b"four"), 2)

    assert (ring.get(3), ring.get(4), ring.get(5)) == (b"three", b"four", None)
    assert ring.oldest() == 3

    ring.forget(3)
    assert ring.oldest() == 4
    ring.forget(9)
    assert (ring.oldest(), ring.n_bytes) == (None, 0)
