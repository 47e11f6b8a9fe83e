"""A reader of the guide: has the files that its command lines name, and types each of them."""

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cyclopts.exceptions import MissingArgumentError

from kmonitor.cli.main import build_app
from tests.support.command_line import Ran, kmonitor
from tests.support.guide_code import command_lines, names_only
from tests.support.waiting import DEADLINE_S

_ROOT = Path(__file__).parents[2]

TRAINING = """
import sys
import keras
import numpy as np
from kmonitor_agent import MonitorCallback

def build_model():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation="softmax")])
    model.compile("adam", "sparse_categorical_crossentropy")
    return model

if __name__ == "__main__":
    x, y = np.zeros((32, 4), "float32"), np.zeros(32)
    monitor = MonitorCallback()
    monitor.request("save", at="epoch")
    epochs = 10_000_000 if "--long" in sys.argv else 2
    model = build_model()
    model.fit(x, y, batch_size=2, epochs=epochs, callbacks=[monitor], verbose=0)
    model.save("model.keras")
    model.save_weights("model.weights.h5")
    with open("model.json", "w") as file:
        file.write(model.to_json())
"""
"""File names that a reader uses for `train.py`, or `script.py`."""


@dataclass(frozen=True, slots=True)
class Line:
    """A command line as a page shows it, such as `kmonitor show RUN`.

    Attributes:
        page: Its page.
        words: Words after `kmonitor`.
    """

    page: str
    words: tuple[str, ...]

    @property
    def told(self) -> str:
        """For people."""
        return f"{self.page}: kmonitor {' '.join(self.words)}"


def whole_lines() -> list[Line]:
    """Each line of README and the English guide once, without those that only name a command.

    A sentence that says "`kmonitor restore` makes one" leaves out what a reader has to give.
    """
    found: dict[tuple[str, ...], Line] = {}
    for page, words in command_lines():
        if "/" not in page and _is_whole(words):
            found.setdefault(tuple(words), Line(page, tuple(words)))
    return [found[words] for words in sorted(found)]


def _is_whole(words: list[str]) -> bool:
    called = words[0] if words and not words[0].startswith("-") else ""
    try:
        build_app(called).parse_args(words, print_error=False, exit_on_error=False)
    except MissingArgumentError:
        return not names_only(words)
    except Exception:  # noqa: BLE001 - placeholders such as ROLE, which `test_guide_commands` knows
        return True
    return True


@dataclass(slots=True)
class Reader:
    """Types command lines in their own folder, with something given for each placeholder.

    Attributes:
        folder: Folder in which they are typed.
        stands_for: Text that is typed for a word of the guide.
        environ: Variables on top of the test's own.
        failures: Failures so far: the line, its status and its output.
    """

    folder: Path
    stands_for: dict[str, str]
    environ: dict[str, str] = field(default_factory=dict[str, str])
    failures: list[str] = field(default_factory=list[str])

    def typed(self, line: Line, more: Iterable[str] = ()) -> tuple[str, ...]:
        """The words that are typed for a line, with `more` behind them."""
        given = {"KEY": os.urandom(32).hex(), **self.stands_for}
        if line.words[0:1] in (("inspect",), ("load-cost",)):
            given["FILE"] = "model.keras"
        return (*(given.get(word, word) for word in line.words), *more)

    def run(self, *words: str, environ: Mapping[str, str] | None = None) -> Ran:
        """Type a command, with more variables set if need be, and wait for its end."""
        variables = {**self.variables(), **(environ or {})}
        return kmonitor(*words, environ=variables, folder=self.folder, timeout_s=4 * DEADLINE_S)

    def read(self, line: Line, more: Iterable[str] = ()) -> None:
        """Type a line of the guide; it is a failure where it does not end well."""
        ran = self.run(*self.typed(line, more))
        if ran.status:
            self.failures.append(
                f"{line.told}: {ran.status}: {ran.err.strip() or ran.out.strip()}"
            )

    def variables(self) -> Mapping[str, str]:
        """Environment of its commands, and of the scripts that these start."""
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        python = os.pathsep.join([str(_ROOT), str(self.folder)])
        return {"PATH": path, "PYTHONPATH": python, **self.environ}
