"""Faults of our own: counted, reported, logged in bounds, never raised."""

from pathlib import Path

import pytest

from kmonitor_agent.guard import LOG_BYTES, FaultLog


def fail(faults: FaultLog, times: int = 1, where: str = "probe") -> None:
    for _ in range(times):
        with faults.guarded(where):
            raise ValueError("no such thing")


def test_fault_is_counted_and_does_not_leave_the_block():
    faults = FaultLog()

    fail(faults, 2)
    fail(faults, where="link")

    assert faults.counts() == {"probe": 2, "link": 1}


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_the_user_s_own_interrupt_passes(kind: type[BaseException]):
    faults = FaultLog()

    with pytest.raises(kind), faults.guarded("probe"):
        raise kind

    assert faults.counts() == {}


def test_guard_also_decorates():
    faults = FaultLog()

    @faults.guarded("decorated")
    def broken() -> None:
        raise OSError("gone")

    broken()

    assert faults.counts() == {"decorated": 1}


def test_faults_are_told_ever_more_rarely():
    told: list[tuple[str, int, str]] = []
    faults = FaultLog(on_fault=lambda where, count, text: told.append((where, count, text)))

    fail(faults, 20)

    assert [count for _, count, _ in told] == [1, 2, 3, 4, 8, 16]
    assert told[0] == ("probe", 1, "ValueError: no such thing")


def test_log_holds_time_place_and_traceback(tmp_path: Path):
    faults = FaultLog(tmp_path / "logs" / "agent.log")
    fail(faults)

    faults.write_out()
    faults.write_out()

    text = (tmp_path / "logs" / "agent.log").read_text()
    assert text.count("probe (fault 1): ValueError: no such thing") == 1
    assert "Traceback" in text
    assert (tmp_path / "logs" / "agent.log").stat().st_mode & 0o777 == 0o600


def test_private_log_holds_no_texts(tmp_path: Path):
    told: list[str] = []
    faults = FaultLog(
        tmp_path / "agent.log",
        private=True,
        on_fault=lambda where, count, text: told.append(text),
    )
    fail(faults)

    faults.write_out()

    assert told == ["ValueError"]
    assert "no such thing" not in (tmp_path / "agent.log").read_text()


def test_full_log_is_turned_over_and_five_old_ones_are_kept(tmp_path: Path):
    log = tmp_path / "agent.log"
    for _ in range(8):
        log.write_bytes(b"x" * LOG_BYTES)
        faults = FaultLog(log)
        fail(faults)
        faults.write_out()

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "agent.log",
        *(f"agent.log.{number}" for number in range(1, 6)),
    ]
    assert log.stat().st_size < LOG_BYTES


def test_log_that_cannot_be_written_is_let_go(tmp_path: Path):
    (tmp_path / "file").write_text("")
    faults = FaultLog(tmp_path / "file" / "agent.log")
    fail(faults)

    faults.write_out()

    assert faults.counts() == {"probe": 1}


def test_fault_whose_text_fails_is_still_counted():
    class Mute(Exception):
        def __str__(self) -> str:  # pyright: ignore[reportImplicitOverride]
            raise RuntimeError

    faults = FaultLog()

    with faults.guarded("probe"):
        raise Mute

    assert faults.counts() == {"probe": 1}
