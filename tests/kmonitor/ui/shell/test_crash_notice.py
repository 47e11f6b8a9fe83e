"""Text on a crash report."""

from kmonitor.ui.shell.crash_reports import crash_notice


def test_a_crash_and_a_failed_part_are_told_apart():
    crash = crash_notice(is_fatal=True, wall_s=0.0, n=1, now_wall_s=0.0)
    part = crash_notice(is_fatal=False, wall_s=0.0, n=3, now_wall_s=0.0)

    assert crash.title.startswith("The window crashed (")
    assert part.title.startswith("Part of the window stopped working (")
    assert part.title.endswith("3 reports were saved.")
    assert "does not send" in crash.text
