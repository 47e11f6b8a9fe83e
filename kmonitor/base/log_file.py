"""A rotated log file that nobody but this user can have put there."""

from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import cast

from typing_extensions import override

from kmonitor_agent.wire.local.private_files import make_own_folder, open_own


class OwnLogHandler(RotatingFileHandler):
    """Makes the folder with mode 0700; also after each turn the file is opened as our others."""

    def __init__(self, path: Path, *, max_bytes: int, old_files: int) -> None:
        """Open it.

        Args:
            max_bytes: It is turned over at this size.
            old_files: How many of those before are kept.

        Raises:
            UnsafePath: Another user could have put it there, or it is no plain file.
            OSError: The folder or the file cannot be made.
        """
        make_own_folder(path.parent)
        super().__init__(path, maxBytes=max_bytes, backupCount=old_files, encoding="utf-8")

    @override
    def _open(self) -> TextIOWrapper:
        return cast("TextIOWrapper", open_own(Path(self.baseFilename), self.mode))
