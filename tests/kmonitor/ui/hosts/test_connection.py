import math

import msgspec

from kmonitor.ui.hosts.connection_status import ConnectionStatus
from kmonitor.ui.shell.first_start import first_start_state
from kmonitor.ui.text.formats import with_plain_spaces
from tests.support.made_up_runs import told_hub


def test_before_the_first_answer_the_hub_is_starting_not_lost():
    link = ConnectionStatus()
    link.disconnected("nobody answers", since_wall_s=0.0, retry_wall_s=1.0)

    status = link.status(version="0.1.0")

    assert link.state == "connecting"
    assert (status.tone, status.link) == ("warn", "Starting the hub\u2026")
    assert link.banner(0.0) is None


def test_a_live_hub_says_where_it_is_and_how_much_comes():
    link = ConnectionStatus()
    link.connected(told_hub())
    link.tick(100.0)
    link.count_rows(500)
    link.tick(102.0)
    link.tick(102.0)

    status = link.status(version="0.1.0")

    assert link.is_live
    assert status.link == "Connected to the hub on gpu-01"
    assert status.rate == "250 events/s"
    assert "Process 77" in status.tooltip
    assert status.version == "kmonitor 0.1.0"


def test_a_lost_hub_counts_down_to_the_next_attempt():
    link = ConnectionStatus()
    link.connected(told_hub())
    link.disconnected("gone", since_wall_s=1000.0, retry_wall_s=1010.0)

    banner = link.banner(1006.0)

    assert banner is not None
    assert banner.title.startswith("Connection to the hub lost at ")
    assert with_plain_spaces(banner.text) == (
        "Charts show the last data received; training may still be running. Retrying in 4 s."
    )
    assert banner.button == "Retry now"
    late = link.banner(1010.0)
    assert late is not None
    assert late.text.endswith("Retrying now.")
    assert link.status(version="1").tone == "crit"


def test_what_is_wrong_with_a_hub_that_answers_is_said_until_it_is_read():
    link = ConnectionStatus()
    told = msgspec.structs.replace(
        told_hub(), troubles=["the disk that holds /x is full; free some"]
    )
    link.connected(told)

    banner = link.banner(0.0)
    assert banner is not None
    assert (banner.text, banner.can_close) == ("The disk that holds /x is full; free some.", True)

    link.dismiss()
    link.connected(told)
    assert link.banner(0.0) is None


def test_a_hub_that_can_write_nothing_is_named_with_what_it_means_until_it_can_again():
    link = ConnectionStatus()
    link.connected(told_hub())
    assert link.banner(0.0) is None
    why = "the disk that holds /x is full; free some space"
    full = msgspec.structs.replace(told_hub(), troubles=[why], unwritten=why)
    link.apply_hub_reply(full)

    banner = link.banner(0.0)
    assert banner is not None
    assert banner.title == "The hub on gpu-01 cannot store new data."
    assert banner.text.startswith(
        "The disk that holds /x is full; free some space. Until this is resolved"
    )
    link.apply_hub_reply(told_hub())
    assert link.banner(0.0) is None
    link.apply_hub_reply(full)
    link.dismiss()
    assert link.banner(0.0) is None
    link.apply_hub_reply(told_hub())
    link.apply_hub_reply(full)
    assert link.banner(0.0) is not None


def test_what_stood_behind_the_worst_trouble_is_said_once_that_was_read():
    link = ConnectionStatus()
    why, other = "the disk that holds /x is full", "the settings cannot be read"
    link.connected(msgspec.structs.replace(told_hub(), troubles=[why, other], unwritten=why))
    link.dismiss()

    banner = link.banner(0.0)
    assert banner is not None
    assert banner.text == "The settings cannot be read."
    link.dismiss()
    assert link.banner(0.0) is None


def test_a_hub_that_lets_us_in_no_more_counts_down_to_nothing():
    link = ConnectionStatus()
    link.connected(told_hub())
    link.disconnected("this key is out", since_wall_s=1000.0, retry_wall_s=math.inf)

    banner = link.banner(1006.0)

    assert banner is not None
    assert banner.text.endswith("this key is out.")
    assert banner.button == "Retry now"


def test_a_hub_that_does_not_start_and_our_own_failures_are_said():
    link = ConnectionStatus()
    link.trouble("The folder is open to others. Run: chmod 700 x")
    banner = link.banner(0.0)
    assert banner is not None
    assert banner.title == "The hub cannot start."
    assert "chmod" in banner.text

    link.trouble("")
    link.fail("KeyError: 'x'", "/logs/app.log")
    failure = link.banner(0.0)
    assert failure is not None
    assert "KeyError: 'x'" in failure.text
    assert failure.can_close
    assert "/logs/app.log" in failure.text


def test_the_first_page_says_what_to_do_and_how_the_demo_stands():
    waiting = first_start_state(is_live=True, is_demo_starting=False, demo_error="")
    starting = first_start_state(is_live=False, is_demo_starting=True, demo_error="")
    failed = first_start_state(is_live=True, is_demo_starting=False, demo_error="no keras")

    assert (waiting.title, waiting.can_start_demo) == ("Waiting for the first run", True)
    assert not starting.can_start_demo
    assert "TensorFlow" in starting.note
    assert failed.note == "no keras"


def test_a_failure_that_was_read_is_put_away_until_the_next_one():
    link = ConnectionStatus()
    link.connected(told_hub())
    link.fail("KeyError: 'x'", "/logs/app.log")
    link.dismiss()
    assert link.banner(0.0) is None

    link.fail("KeyError: 'y'", "/logs/app.log")
    assert link.banner(0.0) is not None
