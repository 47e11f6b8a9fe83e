"""What the window says of a crash report that an earlier start left behind."""

from dataclasses import dataclass

from kmonitor.ui.text.formats import moment_text
from kmonitor.ui.text.language import tr


@dataclass(frozen=True, slots=True)
class CrashNotice:
    """The quiet bar, and what stands above the report.

    Attributes:
        title: What happened and when.
        text: What can be done, and that nothing is sent.
        lead: Above the report itself.
    """

    title: str
    text: str
    lead: str


def crash_notice(*, is_fatal: bool, wall_s: float, n: int, now_wall_s: float) -> CrashNotice:
    """The bar for the newest of the reports.

    Args:
        is_fatal: Whether the window ended by it.
        wall_s: When it was written, UTC.
        n: How many reports there are, this one included.
        now_wall_s: Now, UTC.
    """
    when = moment_text(wall_s, now_wall_s=now_wall_s)
    if is_fatal:
        title = tr("The window crashed ({time}).").format(time=when)
    else:
        title = tr("A part of the window failed ({time}).").format(time=when)
    if n > 1:
        title = tr("{title} {n} reports are kept.").format(title=title, n=n)
    return CrashNotice(
        title,
        tr("A report was kept on this machine. kmonitor sends it nowhere."),
        tr(
            "Versions, the last log lines and where the program stood. User name, home folder, "
            "names of runs and hosts are left out; kmonitor sends nothing. If you report the "
            "fault, copy or save this and add what you did."
        ),
    )
