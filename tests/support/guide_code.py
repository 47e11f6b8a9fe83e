"""The code that README and guide show, in blocks and in sentences: Python, and command lines."""

import re
import shlex
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kmonitor.base.installation import resource_path
from tests.support.help_pages import help_pages

_BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"`(kmonitor(?:\s[^`]*)?)`")
_INLINE = re.compile(r"`([^`]+)`")
_PROGRAM = re.compile(
    r"(?:\w+=.* )?(?:apt-get|docker|eval|journalctl|kill|launchctl|loginctl|make|mkdir|pg_dump"
    r"|py-spy|ray|schtasks|srun|ssh|ssh-copy-id|sudo|systemctl|tar|ulimit) ."
)
_PYTHON = re.compile(r"[A-Za-z_][\w.]*\(.*[)\]]|(?:class|del|if|try)\b.*")
_ROOT = Path(__file__).parents[2]

NOT_RUN: dict[str, str] = {
    "make run": "it opens the window until a person closes it; test_demo runs the demo itself",
    "make test": "it is what runs this",
    "export KMONITOR_HUB=off": "the reader of the guide trains once with it in the environment",
    "export KMONITOR_SPOOL=/scratch/$USER/kmonitor": "the same, with a folder of the test",
    "srun python train.py": "it needs Slurm",
    "docker run -v ~/.local/state/kmonitor:/kmonitor -e KMONITOR_HOME=/kmonitor ...": (
        "it needs Docker and an image of the reader's"
    ),
    "sudo apt install ./dist/kmonitor_*.deb": "kmonitor_trials/packed.py installs that package",
    "tar xf dist/kmonitor-*-linux-*.tar.gz": "kmonitor_trials/packed.py unpacks and runs it",
    "systemctl --user daemon-reload": "it needs systemd and a login",
    "systemctl --user enable --now kmonitor-hub": "it needs systemd and a login",
    "loginctl enable-linger": "it needs systemd and a login",
    "journalctl --user -u kmonitor-hub": "it needs systemd and a login",
    "docker build --file packaging/docker/Dockerfile --tag kmonitor-hub .": (
        "it needs Docker; kmonitor_trials/image.py builds the image"
    ),
    "docker run --detach --name kmonitor-hub --publish 5577:5577"
    " --volume kmonitor-history:/history kmonitor-hub": (
        "it needs Docker; kmonitor_trials/image.py runs the image"
    ),
    "docker exec kmonitor-hub kmonitor authorize KEY --role viewer --name laptop": (
        "it needs Docker; the same command is run without it"
    ),
    "apt-get install fonts-wqy-microhei": "it changes the machine",
    "sudo apt-get install openssh-client": "it changes the machine",
    'eval "$(ssh-agent)" && ssh-add': "it starts an agent that outlives the test",
    "kill -9": "tests/faults/test_folds_killed.py sends the signal",
    "kill PID": "tests/faults/test_folds_killed.py sends the signal",
    "launchctl load": "it needs macOS",
    "make bench": "benchmarks assert nothing, and take long",
    "make bench ARGS=map": "benchmarks assert nothing, and take long",
    "KMONITOR_BENCH_SEED=$(date +%N) make bench ARGS=map": "the same",
    "make bench-peers": "benchmarks assert nothing, and it needs other tools",
    "make dist": "kmonitor_trials/packed.py makes the parts as it does",
    'make run ARGS="--folds 9"': "it opens the window until a person closes it",
    "mkdir -m 1777": "the sentence lacks the folder",
    "pg_dump team": "it is PostgreSQL's own",
    "py-spy dump --pid PID": "it is py-spy's own",
    "ray job submit": "the sentence names the command only",
    "schtasks /Create /TN kmonitor-hub /SC ONLOGON"
    ' /TR "C:\\path\\to\\pythonw.exe -m kmonitor hub"': "it needs Windows",
    "ssh agent": "the name of a check of `kmonitor doctor`",
    "ssh settings": "the name of a check of `kmonitor doctor`",
    "ssh -G": "the sentence lacks the host",
    "ssh gpu-01": "it is ssh's own; test_guide_commands_run works with a real host",
    "ssh gpu-01 kmonitor hub stop": "test_guide_commands_run runs what it runs there",
    "ssh-copy-id gpu-01": "it is ssh's own, and asks for a password",
    "ulimit -n": "the sentence names the limit, not a value",
    "ulimit -v": "the sentence names the limit, not a value",
}
"""Shell lines in blocks and in sentences that no test runs as they are, and why."""

OPTIONS_NAMED: dict[tuple[str, ...], str] = {
    ("runs", "--folder"): "the sentence is about any folder",
    ("export", "--output"): "the sentence lists commands that write files",
    ("hub", "keep", "--keep-size"): "the sentence names the setting, not its size",
}
"""Lines in sentences that name an option without all required arguments, and why."""

NO_CODE: dict[str, str] = {
    "json": "the body of an alert, which a test parses",
    "sql": "for a database server; team_server makes a database like this one",
    "text": "what a program prints",
    "yaml": "for Prometheus, which is not installed here",
}
"""Languages of blocks that are neither Python nor shell, and why nothing runs them."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A piece of code on a page.

    Attributes:
        page: Its page, such as `zh_CN/folds.md`.
        number: Index of the block on the page, from 0.
        code: The code that is shown.
    """

    page: str
    number: int
    code: str


def pages() -> dict[str, str]:
    """README and every page of the guide in each language: texts by name."""
    guide = resource_path("guide")
    found = {path.relative_to(guide).as_posix(): path for path in sorted(guide.rglob("*.md"))}
    found["README.md"] = _ROOT / "README.md"
    return {name: path.read_text(encoding="utf-8") for name, path in found.items()}


def blocks(language: str) -> list[Shown]:
    """Every block in this language; "" is the shell."""
    return [
        Shown(name, number, textwrap.dedent(block[3]))
        for name, text in pages().items()
        for number, block in enumerate(_BLOCK.finditer(text))
        if block[2] == language
    ]


def languages() -> set[str]:
    """Languages that the blocks name."""
    return {block[2] for text in pages().values() for block in _BLOCK.finditer(text)}


def in_sentences(form: re.Pattern[str]) -> list[tuple[str, str]]:
    """Code outside of blocks that has a form as a whole: its page, and the code on one line."""
    return [
        (name, " ".join(code.split()))
        for name, text in pages().items()
        for code in _INLINE.findall(_BLOCK.sub("", text))
        if form.match(" ".join(code.split()))
    ]


def program_lines() -> list[tuple[str, str]]:
    """Every line of the shell in a sentence that begins with another program than kmonitor."""
    return in_sentences(_PROGRAM)


def python_in_sentences() -> list[tuple[str, str]]:
    """Every call, and every statement, of Python in a sentence; `…` is `...`."""
    return [(page, code.replace("…", "...")) for page, code in in_sentences(_PYTHON)]


def python_blocks() -> list[Shown]:
    """Every block that is Python."""
    return blocks("python")


def shell_lines() -> list[tuple[str, str]]:
    """Every line of the shell in a block, without its comment: its page, and the line."""
    lines = [(shown.page, line) for shown in blocks("") for line in shown.code.splitlines()]
    return [(page, re.split(r"\s+#", line)[0].strip()) for page, line in lines if line.strip()]


def indented_lines(text: str) -> list[str]:
    """Lines outside of blocks that Markdown may take for code, which no test would find."""
    return [line for line in _BLOCK.sub("", text).splitlines() if line.startswith(("    ", "\t"))]


def command_lines() -> list[tuple[str, list[str]]]:
    """Every `kmonitor ...` in a block or in a sentence: its page, and its words after the name.

    The help of a command is a page.
    """
    found = [(page, line) for page, line in shell_lines() if line.startswith("kmonitor")]
    for name, text in pages().items():
        found += [(name, shown) for shown in _COMMAND.findall(_BLOCK.sub("", text))]
    for page in help_pages():
        name = f"{' '.join(page.path)} --help"
        found += [(name, shown) for shown in _COMMAND.findall(page.text)]
    return [(name, shlex.split(line, comments=True)[1:]) for name, line in found]


def names_only(words: Sequence[str]) -> bool:
    """True if an incomplete line only names a command, such as `kmonitor restore` in a sentence.

    A line with options is meant to be typed, so it must be complete.
    """
    return not any(word.startswith("-") for word in words) or tuple(words) in OPTIONS_NAMED


def install_lines() -> list[str]:
    """Every `python -m pip install ...` in a block or in a sentence, without its comment."""
    found = {
        line.partition("#")[0].strip()
        for text in pages().values()
        for line in re.findall(r"python -m pip install [^`\n]*", text)
    }
    return sorted(found)
