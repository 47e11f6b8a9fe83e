"""`kmonitor run`: a script under supervision, so that it can be restarted and continue."""

import os
import sys
from typing import Annotated

from cyclopts import Parameter

from kmonitor.base.errors import UserError
from kmonitor.cli.common.terminal import UsageError, print_stderr, terminal_safe
from kmonitor_agent.wire.local.folders import find_folders


def run(
    *script: Annotated[str, Parameter(allow_leading_hyphen=True)],
    resume_after_crash: Annotated[int, Parameter(name="--resume-after-crash")] = 0,
) -> int:
    """Run a training script so that it can be restarted and continue where it left off.

    Example: `kmonitor run --resume-after-crash 3 -- python train.py`

    The script uses this terminal as if it had been started directly, and its exit status is passed
    on. With `MonitorCallback()` in its fits, the script can be restarted from the window, with
    `kmonitor command last restart`, with `monitor.request("restart")` or by a limit:
    `Limit("ram", "80%", action="restart")`. At the end of the epoch, the state is saved, the
    process exits with status 75, and the script is started again. Finished fits do not run again,
    and the interrupted one continues with the same result, bit for bit. Only a new process frees
    all memory.

    Keep in mind: the script's fits must come in the same order each time; whatever the script does
    before a fit is done again; the state of your own generators is not kept. How the script died
    (signal, out of memory, exit status) is reported to the hub: `kmonitor show last`.

    Exit status: the script's. If a signal ended it, the same signal ends this command.

    Args:
        script: Program and arguments, after `--`.
        resume_after_crash: Maximum number of restarts after crashes. The state is then also saved
            at the end of epochs; saving takes at most a tenth of the running time.
    """
    if not script or not script[0]:
        raise UsageError(
            "no script given.",
            "Put the script after --: kmonitor run -- python train.py",
        )
    if script == ("last",):  # a run is meant
        raise UsageError(
            "kmonitor run starts a script.",
            "To see the newest run: kmonitor show last",
        )
    if resume_after_crash < 0:
        raise UsageError("--resume-after-crash must be 0 or more.", "See: kmonitor run --help")
    if sys.platform == "win32":
        raise UserError("kmonitor run needs Linux or macOS.", "Start the script without it.")
    return _supervise(script, resume_after_crash)


def _supervise(script: tuple[str, ...], resumes: int) -> int:
    # Signals of POSIX are needed; the other commands are not.
    from kmonitor_agent.reclaim.restart.child_process import exit_as  # noqa: PLC0415
    from kmonitor_agent.reclaim.restart.supervisor import (  # noqa: PLC0415
        CannotSupervise,
        ScriptCannotStart,
        Supervisor,
        SupervisorOptions,
    )

    folders = find_folders()
    try:
        supervisor = Supervisor(
            SupervisorOptions(script, resumes),
            folders=folders,
            environ=os.environ,
            print_line=lambda line: print_stderr(terminal_safe(line)),
        )
        return exit_as(supervisor.run())
    except CannotSupervise as exc:
        raise UserError(
            f"the state folder cannot be used: {exc.why}",
            "Set KMONITOR_HOME to a folder that you can write to, or run: kmonitor doctor",
        ) from exc
    except ScriptCannotStart as exc:
        print_stderr(f"kmonitor: {terminal_safe(exc.why)}")
        return exc.status
