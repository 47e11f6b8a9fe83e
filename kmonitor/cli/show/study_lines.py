"""A study in words: how far it is, and each try of its folds."""

import time
from collections.abc import Collection, Iterable

from kmonitor.cli.common.terminal import plain, say, say_table
from kmonitor.export.events import read_event
from kmonitor.ui.runs.run_states import has_ended
from kmonitor.ui.studies.folds import tries_of
from kmonitor.ui.studies.study_page import study_picture
from kmonitor.ui.studies.study_store import StudyRecord, folds_of, is_search
from kmonitor.ui.text.formats import NOT_KNOWN, plain_text
from kmonitor_agent.wire.messages.unions import Row, RunSummary

_HEADERS = ("TRY", "STATE", "TIME", "STEPS", "RAM PEAK", "GROWTH", "VRAM PEAK", "WHY")
_NUMBERS = ("STEPS", "RAM PEAK", "GROWTH", "VRAM PEAK")


def say_study(study: RunSummary, rows: Iterable[Row], runs: Collection[RunSummary]) -> None:
    """Print how far a study is and its ledger.

    Args:
        study: Its own run.
        rows: What it told.
        runs: All that the hub knows, its folds' among them.
    """
    record = StudyRecord()
    for row in rows:
        event = read_event(row)
        if event is not None:
            record.take(row, event)
    now_wall_s = study.last_wall_s if has_ended(study) else time.time()
    tries = tries_of(study, record, folds_of(study, runs), now_wall_s=now_wall_s)
    picture = study_picture(study, record, tries, now_wall_s=now_wall_s)
    say(plain(plain_text(picture.lead)))
    for words in (picture.forecast, picture.facts):
        if words:
            say(plain(plain_text(words)))
    say()
    cells = (
        [plain(plain_text(cell)) or NOT_KNOWN for cell in row.cells[:-1]] + [plain(row.cells[-1])]
        for row in picture.rows
    )
    noun = "TRIAL" if is_search(study) else "FOLD"
    say_table((noun, *_HEADERS), cells, right=(noun, *_NUMBERS), folds=("WHY",))
