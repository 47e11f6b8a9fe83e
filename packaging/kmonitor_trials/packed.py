"""Trials of what is handed out: the packed app, and the Debian package on a bare Debian.

Both are shown a run that a real agent recorded: it is shipped to the packed app's own hub, listed,
and drawn in its window, offscreen.
"""

import json
import shlex
import shutil
import struct
import zlib
from pathlib import Path

from kmonitor_trials.debian import make_tree, own_namespace
from kmonitor_trials.outcome import ROOT, WORK, Failed, expect, tell

DIST = ROOT / "dist"

_FEWEST_ROWS = 100
"""Different rows of pixels in a picture with a window and a run in it; an empty one has few."""

_SCRAPE = """
import json, subprocess, sys, urllib.request
told = json.loads(subprocess.check_output([sys.executable, "hub", "status", "--json"]))
page = urllib.request.urlopen(told["prometheus"], timeout=300).read().decode()
assert "kmonitor_" in page, page
"""

_OWN_LIBRARY = "import psycopg; assert psycopg.pq.__impl__ == 'binary', psycopg.pq.__impl__"

_STEPS = {
    "it says its version": "{app} --version",
    "it explains itself": "{app} --help",
    "it looks around": "{app} doctor; test $? -le 1",
    "its hub takes a recorded run": "{app} ship {spool}",
    "it lists the run": "{app} runs --json > {place}/runs.json",
    "it shows the run": "{app} show last",
    "its window opens on the run, and closes": "{app} --run last --screenshot {picture}",
    "its hub answers and is stopped": "{app} hub ensure --json && {app} hub status && "
    "{app} hub stop",
    "its hub serves figures, which are scraped": "{app} hub --prometheus 127.0.0.1:0 "
    "--otlp http://127.0.0.1:9 & n=0; until {app} hub status; do n=$((n+1)); test $n -lt 600; "
    "sleep 1; done; {app} -c {scrape} && {app} hub stop && wait",
    "it brings its own client of PostgreSQL": "{app} -I -c {own_library}",
    "a team's server that is not there is told": "! {app} hub store "
    "postgresql://nobody@127.0.0.1:9/none > {place}/store.txt 2>&1 && cat {place}/store.txt && "
    "grep -q 127.0.0.1:9 {place}/store.txt",
}
"""In order; what has to succeed."""


def try_built() -> None:
    """The packed app opens without Python's packages around it, shows a run, and closes.

    Raises:
        Failed: With what did not work.
    """
    made = _build("app")
    place = WORK / "built"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    shutil.unpack_archive(made, place)
    (app,) = place.glob("kmonitor-*/kmonitor")
    _record(place / "spool")
    for what, command in _commands(str(app), place).items():
        expect(["sh", "-ec", command], what=what, cwd=place, environ=_bare(place))
    _see_run(place)


def try_deb(suite: str) -> None:
    """The Debian package installs on a bare Debian, with what it needs, and starts there.

    Args:
        suite: Debian's name of the release, "bookworm".

    Raises:
        CannotTry: Not root, or Debian cannot be reached.
        Failed: With what did not work.
    """
    made = _build("deb")
    tree = make_tree(suite, "ca-certificates", name=f"deb-{suite}")
    place = tree / "tmp" / "trial"
    place.mkdir()
    shutil.copy(made, place / "kmonitor.deb")
    _record(place / "spool")
    inside = Path("/tmp/trial")  # noqa: S108 - of the tree
    steps = {
        "it installs": "apt-get update -q && apt-get install -y -q --no-install-recommends "
        f"{inside}/kmonitor.deb",
        "no library that Qt needs is missing": "! ldd /usr/lib/kmonitor/_internal/PySide6/Qt/"
        "plugins/platforms/libqxcb.so | grep 'not found'",
        "the menu, the icon and the unit are there": "test -s "
        "/usr/share/applications/kmonitor.desktop && test -s /usr/lib/systemd/user/kmonitor-hub."
        "service && test -s /usr/share/icons/hicolor/48x48/apps/kmonitor.png",
        **_commands("kmonitor", inside),
        "it is removed without a trace": "apt-get purge -y -q kmonitor && test ! -e "
        "/usr/lib/kmonitor && test ! -e /usr/bin/kmonitor",
    }
    environ = {"KMONITOR_HOME": str(inside / "home"), "QT_QPA_PLATFORM": "offscreen"}
    words = " ".join(f"{name}={shlex.quote(value)}" for name, value in environ.items())
    for what, step in steps.items():
        line = own_namespace(tree, f"export {words}; {step}")
        expect(["sh", "-c", line], what=f"{suite}: {what}")
    _see_run(place)
    shutil.rmtree(tree)


def _build(part: str) -> Path:
    """The file that `make dist` makes of a part."""
    python = ROOT / ".venv" / "bin" / "python"
    expect([python, ROOT / "packaging" / "build.py", part], what=f"make dist ARGS={part}")
    pattern = {"app": "kmonitor-*-linux-*.tar.gz", "deb": "kmonitor_*.deb"}[part]
    return max(DIST.glob(pattern), key=lambda path: path.stat().st_mtime)


def _record(spool: Path) -> None:
    """Have a real agent write a run's spool, as a training on a cluster does."""
    spool.mkdir(parents=True)
    environ = {
        "KMONITOR_HOME": str(spool.parent / "agent"),
        "KMONITOR_HUB": "off",
        "KMONITOR_SPOOL": str(spool),
        "PYTHONPATH": str(ROOT),
    }
    python = ROOT / ".venv" / "bin" / "python"
    command = [python, "-m", "tests.support.spooling"]
    expect(command, what="a run is recorded", environ=environ, typed="200\nend\n")


def _commands(app: str, place: Path) -> dict[str, str]:
    fields = {
        "app": shlex.quote(app),
        "place": place,
        "spool": place / "spool",
        "picture": place / "window.png",
        "scrape": shlex.quote(_SCRAPE),
        "own_library": shlex.quote(_OWN_LIBRARY),
    }
    return {what: step.format(**fields) for what, step in _STEPS.items()}


def _bare(place: Path) -> dict[str, str]:
    """No Python of this machine's, no display, and kmonitor's files below the trial's folder."""
    emptied = dict.fromkeys(("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "DISPLAY"), "")
    settled = {"KMONITOR_HOME": str(place / "home"), "QT_QPA_PLATFORM": "offscreen"}
    return {**emptied, **settled, "PATH": "/usr/bin:/bin"}


def _see_run(place: Path) -> None:
    runs = json.loads((place / "runs.json").read_text(encoding="utf-8"))
    if len(runs) != 1:
        raise Failed(f"it lists {len(runs)} runs where one was shipped")
    rows = _different_rows(place / "window.png")
    if rows < _FEWEST_ROWS:
        raise Failed(f"its window's picture has {rows} different rows: nothing is in it")
    tell(f"  {runs[0]['name']} is listed and drawn")


def _different_rows(picture: Path) -> int:
    """Number of rows of a PNG's filtered pixels that differ. Source: PNG specification."""
    content = picture.read_bytes()
    at, packed = 8, b""
    while at < len(content):
        (length,) = struct.unpack(">I", content[at : at + 4])
        if content[at + 4 : at + 8] == b"IDAT":
            packed += content[at + 8 : at + 8 + length]
        at += length + 12
    width, height = struct.unpack(">II", content[16:24])
    plain = zlib.decompress(packed)
    row = len(plain) // height
    return len({plain[y * row : (y + 1) * row] for y in range(height)}) if width else 0
