"""Options of every command that is given a model file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from cyclopts import Parameter


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How a model file is read.

    Attributes:
        config: A JSON file with the architecture, for a .weights.h5 file.
        custom: A Python file with custom classes; it is run.
        allow_code: Run code that is inside the model file.
    """

    config: Path | None = None
    custom: Path | None = None
    allow_code: Annotated[bool, Parameter(negative="")] = False


NO_OPTIONS: Final = FileOptions()
"""The file alone, and nothing in it runs."""
