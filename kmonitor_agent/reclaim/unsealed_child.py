"""The process that reads checkpoints of an earlier kmonitor first: it may crash, its asker not."""

import json
import sys
from collections import deque
from pathlib import Path
from typing import Any

from kmonitor_agent.reclaim.state_facts import NotAStateFile
from kmonitor_agent.reclaim.unsealed import (
    read_architecture,
    read_facts,
    read_header,
    read_variables,
)


def answer(asked: dict[str, Any]) -> None:
    """Print for each path, on a line of its own, what is wrong with the file, as a JSON text.

    Args:
        asked: "paths".
    """
    for path in asked["paths"]:
        sys.stdout.write(json.dumps(_damage(Path(path))) + "\n")
        sys.stdout.flush()


def _damage(path: Path) -> str:
    try:
        read_header(path)
        read_facts(path)
        deque(read_variables(path), maxlen=0)
        read_architecture(path)
    except NotAStateFile as exc:
        return exc.why
    except (MemoryError, OSError) as exc:
        return f"{type(exc).__name__}: {exc}"
    return ""
