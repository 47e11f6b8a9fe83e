"""Messages between `kmonitor run` and its script through their folder."""

from pathlib import Path

from kmonitor_agent.wire.local.supervision import RestartRequest, Supervision


def test_a_process_knows_who_asked_the_one_before_it_to_leave(tmp_path: Path):
    shared = Supervision(tmp_path)
    left = RestartRequest("a" * 32, "limit ram 80%")

    shared.begin_next()
    assert shared.previous_request() is None
    shared.leave(left)
    shared.begin_next()

    assert (shared.previous_request(), shared.request()) == (left, None)


def test_a_process_that_follows_a_crash_was_asked_for_by_nobody(tmp_path: Path):
    shared = Supervision(tmp_path)
    shared.leave(RestartRequest("a" * 32, "limit ram 80%"))
    shared.begin_next()

    shared.begin_next()

    assert shared.previous_request() is None
