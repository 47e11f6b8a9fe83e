"""Folders, streams, locales and limits."""

import resource
from typing import Final

from tests.promise.training import Case

_NOWHERE: Final = {
    "KMONITOR_HOME": "/proc/kmonitor",
    "XDG_RUNTIME_DIR": "",
    "KMONITOR_RUNTIME": "",
}

MACHINE: Final = (
    Case("no state folder", env=_NOWHERE),
    Case("no state folder, standard error full", env=_NOWHERE, err="full"),
    Case("no state folder, standard error broken", env=_NOWHERE, err="broken"),
    Case("no state folder, standard error stuck", env=_NOWHERE, err="stuck"),
    Case("no state folder, standard error closed", env=_NOWHERE, err="closed"),
    Case("no state folder, both full", env=_NOWHERE, out="full", err="full"),
    Case("no state folder, output stuck", env=_NOWHERE, out="stuck", err="stuck"),
    Case("output full", out="full"),
    Case("output closed", out="closed"),
    Case("both closed", out="closed", err="closed"),
    Case("output broken", out="broken"),
    Case(
        "no home",
        env={
            "HOME": "",
            "KMONITOR_HOME": "",
            "XDG_STATE_HOME": "",
            "XDG_CONFIG_HOME": "",
            "XDG_CACHE_HOME": "",
        },
        before="""
import pwd
def nobody(*a): raise KeyError("getpwuid(): uid not found")
pwd.getpwuid = nobody
""",
    ),
    Case(
        "no home, a spool that is named",
        env={
            "HOME": "",
            "KMONITOR_HOME": "",
            "XDG_STATE_HOME": "",
            "XDG_CONFIG_HOME": "",
            "KMONITOR_HUB": "off",
            "KMONITOR_SPOOL": "{folder}/spool",
        },
        before="""
import pwd
def nobody(*a): raise KeyError("getpwuid(): uid not found")
pwd.getpwuid = nobody
""",
        after="""
if WITH: assert os.listdir(os.path.join(os.path.dirname(RESULT), "spool")), "nothing spooled"
""",
    ),
    Case("a home that is missing", env={"HOME": "/proc/nonexistent", "KMONITOR_HOME": ""}),
    Case("a home that is a file", env={"HOME": "{folder}/train.py", "KMONITOR_HOME": ""}),
    Case("a runtime folder that is missing", env={"XDG_RUNTIME_DIR": "/proc/nonexistent"}),
    Case("a runtime folder with a long path", env={"XDG_RUNTIME_DIR": "{folder}/" + "x" * 150}),
    Case(
        "no folder for temporary files", env={"TMPDIR": "/proc/nonexistent", "TMP": "", "TEMP": ""}
    ),
    Case(
        "language C",
        env={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ),
    Case("output in ASCII", env={"PYTHONIOENCODING": "ascii"}),
    Case(
        "output in ASCII, strict, no state folder",
        env={**_NOWHERE, "PYTHONIOENCODING": "ascii:strict"},
    ),
    Case("a time zone that is odd", env={"TZ": "XYZ-99"}),
    Case("a time zone that is empty", env={"TZ": ":"}),
    Case("hash seed", env={"PYTHONHASHSEED": "1"}),
    Case("memory debugged", env={"PYTHONMALLOC": "debug"}),
    Case("one thread", env={"OMP_NUM_THREADS": "1", "TF_NUM_INTRAOP_THREADS": "1"}),
    Case("a path that is empty", env={"PATH": ""}),
    Case("bytes in the environment", env={"ODD": "\udcff\udcfe"}),
    Case("a user of the environment's", env={"USER": "\udcff", "LOGNAME": "", "USERNAME": ""}),
    Case(
        "in a cluster's job",
        env={"SLURM_JOB_ID": "x" * 500, "SLURM_PROCID": "-5", "SLURM_JOB_END_TIME": "never"},
    ),
    Case("GPUs named oddly", env={"CUDA_VISIBLE_DEVICES": "GPU-nonsense,,5"}),
    Case(
        "a file limit of 4 KiB",
        before="import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)",
        limits={resource.RLIMIT_FSIZE: 4096},
        full=False,
    ),
    Case(
        "a file limit of 64 KiB",
        before="import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)",
        limits={resource.RLIMIT_FSIZE: 65536},
    ),
    Case("a file limit, the signal ignored", limits={resource.RLIMIT_FSIZE: 8192}),
    Case("few descriptors", limits={resource.RLIMIT_NOFILE: 64}),
    Case("very few descriptors", limits={resource.RLIMIT_NOFILE: 24}),
    Case("no core files", limits={resource.RLIMIT_CORE: 0}),
    Case("a small stack", limits={resource.RLIMIT_STACK: 2 * 2**20}),
    Case("a strict umask", umask=0o777),
    Case("an open umask", umask=0),
)
"""Folders, streams, locales, limits."""
