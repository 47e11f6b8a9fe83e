"""Contents of a diagnosis, which becomes whole an epoch later."""

import msgspec

from kmonitor.ui.events.diagnosis import (
    MAX_KEPT,
    DiagnosisState,
    DiagnosisStore,
    finding_lines,
    no_diagnosis_text,
)
from kmonitor.ui.text.formats import with_plain_spaces
from kmonitor_agent.wire.messages.events import AllocationGrowth, Diagnosis, ObjectGrowth

FOUND = Diagnosis(
    t_s=1.0,
    fit=1,
    epoch=31,
    seconds=0.087,
    objects=[
        ObjectGrowth("builtins.tuple", 512345, -34),
        ObjectGrowth("tf.FuncGraph", 312, 48),
        ObjectGrowth("builtins.dict", 812345, 12034),
        ObjectGrowth("keras.Variable", 9),
    ],
    holders=["12 traces held by `my_step`", "`f`: traces 2"],
    why="the lines that allocate memory will be reported at the end of the next epoch",
)
LATER = Diagnosis(
    t_s=2.0,
    fit=1,
    epoch=32,
    seconds=0.013,
    allocations=[
        AllocationGrowth("keras/src/numpy.py:12", -4096, -3),
        AllocationGrowth("/home/x/train.py:41", 12 * 2**20, 4012),
    ],
)


def shown(*found: Diagnosis) -> DiagnosisState:
    book = DiagnosisStore()
    for at, each in enumerate(found):
        book.add("run", at + 1, each, wall_s=0.0)
    picture = book.state("run", None, run_name="my run")
    assert picture is not None
    return picture


def test_evidence_is_listed_most_growth_first():
    picture = shown(FOUND)
    holders, objects, memory = picture.sections

    assert [row.name for row in holders.rows] == FOUND.holders
    assert [row.name for row in objects.rows] == [
        "builtins.dict",
        "tf.FuncGraph",
        "keras.Variable",
        "builtins.tuple",
    ]
    numbers = [tuple(map(with_plain_spaces, row.numbers)) for row in objects.rows]
    assert numbers == [
        ("812 345", "+12 034"),
        ("312", "+48"),
        ("9", "\u2013"),
        ("512 345", "\u221234"),
    ]
    assert [row.has_grown for row in objects.rows] == [True, True, False, False]
    assert not memory.rows
    assert "next epoch" in memory.empty
    assert "training waited 87.0 ms" in with_plain_spaces(picture.subtitle)
    assert picture.missing.startswith("The lines that allocate")


def test_what_is_told_an_epoch_later_makes_it_whole():
    picture = shown(FOUND, LATER)

    assert picture.row == 2
    assert len(picture.sections[1].rows) == 4
    rows = picture.sections[2].rows
    assert [row.name for row in rows] == ["/home/x/train.py:41", "keras/src/numpy.py:12"]
    assert with_plain_spaces(rows[0].numbers[0]) == "+12.0 MiB"
    assert with_plain_spaces(rows[1].numbers[0]) == "\u22124.0 KiB"
    assert "100 ms" in with_plain_spaces(picture.subtitle)
    assert picture.missing == ""


def test_the_summary_names_the_worst_of_each_kind():
    assert with_plain_spaces(shown(FOUND, LATER).summary) == (
        "12 traces held by `my_step`; most new objects: dict (+12 034); "
        "most new memory: train.py:41 (+12.0 MiB)"
    )
    more = msgspec.structs.replace(
        FOUND, holders=["`f`: 2 kept for models that no longer exist", *FOUND.holders], objects=[]
    )
    assert shown(more).summary == "`f`: 2 kept for models that no longer exist, also `my_step`"
    one = msgspec.structs.replace(FOUND, holders=["a held by " * 20], objects=[])
    assert shown(one).summary.startswith("A held by")
    assert len(shown(one).summary) <= 90


def test_all_that_one_found_can_be_told_in_lines():
    assert [with_plain_spaces(line) for line in finding_lines(FOUND)] == [
        "12 traces held by `my_step`",
        "`f`: traces 2",
        "builtins.dict: now 812 345, growth +12 034",
        "tf.FuncGraph: now 312, growth +48",
    ]
    assert [with_plain_spaces(line) for line in finding_lines(LATER)] == [
        "/home/x/train.py:41: growth +12.0 MiB, blocks +4 012"
    ]
    many = msgspec.structs.replace(FOUND, holders=[f"`f{n}`: traces 1" for n in range(9)])
    assert "Traces and what holds them: 4 more" in finding_lines(many)


def test_a_first_diagnosis_says_that_it_is_what_others_are_compared_with():
    first = Diagnosis(t_s=1.0, fit=1, epoch=0, seconds=0.1, objects=[ObjectGrowth("dict", 5)])
    calm = Diagnosis(t_s=1.0, fit=1, epoch=0, seconds=0.1, objects=[ObjectGrowth("dict", 5, 0)])

    assert "run another" in shown(first).summary
    assert shown(calm).summary.startswith("Nothing grew")
    assert shown(calm).sections[0].empty.startswith("No referrer")


def test_an_event_leads_to_the_diagnosis_that_it_belongs_to():
    book = DiagnosisStore()
    for row, found in ((5, FOUND), (6, LATER), (9, FOUND), (9, FOUND)):
        book.add("run", row, found, wall_s=0.0)

    assert book.rows("run") == [6, 9]
    assert [book.row_of("run", row) for row in (5, 6, 9, 7)] == [6, 6, 9, None]
    assert book.state("run", 6, run_name="") is not None
    assert book.state("run", 5, run_name="") is None
    assert book.state("other", None, run_name="") is None
    book.forget({"run"})
    assert book.rows("run") == []


def test_a_lone_follow_up_and_a_second_one_stand_for_themselves():
    book = DiagnosisStore()
    for row in (1, 2):
        book.add("run", row, LATER, wall_s=0.0)

    assert book.rows("run") == [1, 2]


def test_many_diagnoses_let_the_oldest_go():
    book = DiagnosisStore()
    for row in range(MAX_KEPT + 3):
        book.add("run", row, FOUND, wall_s=0.0)

    assert len(book.rows("run")) == MAX_KEPT
    assert book.rows("run")[0] == 3


def test_the_copied_text_holds_all_evidence():
    text = shown(FOUND, LATER).as_text()

    for each in (*FOUND.holders, "builtins.dict\t812 345\t+12 034", "/home/x/train.py:41\t+12.0"):
        assert each in text
    assert "\u202f" not in text
    assert "Not counted." in shown(LATER).as_text()
    assert "safe point" in no_diagnosis_text()
