"""A rotated log file that only this user can have created."""

from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import cast

from typing_extensions import override

from kmonitor_agent.wire.local.private_files import make_own_folder, open_own


class OwnLogHandler(RotatingFileHandler):
    """Creates the folder with mode 0700, and opens each new file with the same checks."""

    def __init__(self, path: Path, *, max_bytes: int, old_files: int) -> None:
        """Open the log file.

        Args:
            max_bytes: Size at which the file is rotated.
            old_files: Number of rotated files that are kept.

        Raises:
            UnsafePath: Another user could have created the file, or it is no plain file.
            OSError: The folder or the file cannot be created.
        """
        make_own_folder(path.parent)
        super().__init__(path, maxBytes=max_bytes, backupCount=old_files, encoding="utf-8")

    @override
    def _open(self) -> TextIOWrapper:
        return cast("TextIOWrapper", open_own(Path(self.baseFilename), self.mode))
