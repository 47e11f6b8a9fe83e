"""The item models stay sound whatever comes and goes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QModelIndex
from PySide6.QtTest import QAbstractItemModelTester

from kmonitor.ui.events.event_log import EventLogRow
from kmonitor.ui.events.event_text import EventLine
from kmonitor.ui.events.qt.event_log_view import EventLogModel
from kmonitor.ui.hosts.audit import AuditLine, AuditState
from kmonitor.ui.hosts.qt.audit_window import AuditModel, AuditWindow
from kmonitor.ui.run_tree.qt.run_tree_model import RunTreeModel
from kmonitor.ui.run_tree.run_tree import HostRow, RunRow
from kmonitor.ui.runs.run_states import RunStateLabel
from tests.support.desk_window import DeskWindow

pytestmark = [pytest.mark.gui, pytest.mark.usefixtures("qapp")]

STATE = RunStateLabel("dot", "Training", "ok")


def run_row(run: str, line: str = "") -> RunRow:
    return RunRow(run, run, line, STATE, None, None, run, is_pale=False)


def shown_tree(model: RunTreeModel) -> list[tuple[str, list[str]]]:
    hosts: list[tuple[str, list[str]]] = []
    for at in range(model.rowCount()):
        host = model.index(at, 0)
        runs = [model.run_at(model.index(i, 0, host)) or "" for i in range(model.rowCount(host))]
        hosts.append((str(host.data()).split(",")[0], runs))
    return hosts


trees = st.lists(
    st.tuples(st.sampled_from("ABC"), st.lists(st.sampled_from("uvwxyz"), unique=True)),
    unique_by=lambda pair: pair[0],
)


@settings(deadline=None, max_examples=60)
@given(st.lists(trees, max_size=5))
def test_the_tree_becomes_whatever_it_is_given(steps: list[list[tuple[str, list[str]]]]):
    model = RunTreeModel()
    tester = QAbstractItemModelTester(model)
    for step in steps:
        hosts = [
            HostRow(
                h,
                f"{len(runs)} runs",
                tuple(run_row(f"{h}{r}", line=str(len(steps))) for r in runs),
            )
            for h, runs in step
        ]
        model.show_rows(hosts)
        assert shown_tree(model) == [(h, [f"{h}{r}" for r in runs]) for h, runs in step]
    tester.deleteLater()


def test_an_index_lasts_while_other_rows_come_and_go():
    model = RunTreeModel()
    model.show_rows([HostRow("A", "", (run_row("a"),)), HostRow("B", "", (run_row("b"),))])
    kept = model.index_of("b")

    model.show_rows([HostRow("B", "", (run_row("b", "new"),))])

    assert model.run_at(model.index_of("b")) == "b"
    assert model.index_of("a") == QModelIndex()
    assert kept.row() == 0


rows = st.lists(st.integers(0, 30), unique=True).map(lambda ids: sorted(ids, reverse=True))


@settings(deadline=None, max_examples=60)
@given(st.lists(rows, max_size=5))
def test_the_log_becomes_whatever_it_is_given(steps: list[list[int]]):
    model = EventLogModel()
    tester = QAbstractItemModelTester(model)
    for step in steps:
        model.show_rows(
            [
                EventLogRow(i, "r", "name", "11:02:41", EventLine("dot", "info", str(i)))
                for i in step
            ]
        )
        told = [str(model.index(at, 0).data()).rsplit(" ", 1)[1] for at in range(model.rowCount())]
        assert told == [str(i) for i in step]
    tester.deleteLater()


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sets(st.integers(1, 12)), max_size=5))
def test_the_audit_becomes_whatever_it_is_given(steps: list[set[int]]):
    model = AuditModel()
    tester = QAbstractItemModelTester(model)
    for step in steps:
        rows = sorted(step, reverse=True)
        model.show_rows([AuditLine(n, (str(n), "", "", "", ""), "all") for n in rows])
        assert [model.index(at, 0).data() for at in range(model.rowCount())] == [*map(str, rows)]
    tester.deleteLater()


def test_rows_that_come_change_and_go_together_are_told_once():
    """A table measures its columns again each time: with 200 rows apart for 60 ms."""
    model, told = AuditModel(), list[tuple[str, int, int]]()
    model.rowsInserted.connect(lambda _parent, first, last: told.append(("in", first, last)))
    model.rowsRemoved.connect(lambda _parent, first, last: told.append(("out", first, last)))
    model.dataChanged.connect(lambda low, high: told.append(("new", low.row(), high.row())))

    for word, n in (("done", 200), ("fertig", 200), ("fertig", 1)):
        model.show_rows([AuditLine(i, (word, "", "", "", "", ""), "all") for i in range(n)])

    assert told == [("in", 0, 199), ("new", 0, 199), ("out", 1, 199)]


@pytest.mark.qt_log_ignore("This plugin does not support")
def test_columns_of_the_audit_are_measured_by_few_rows(monkeypatch: pytest.MonkeyPatch):
    """Else a change of style takes longer with each command that was ever requested."""
    read: set[int] = set()
    data = AuditModel.data

    def watched(model: AuditModel, index: QModelIndex, role: int = 0) -> object:
        read.add(index.row())
        return data(model, index, role)

    monkeypatch.setattr(AuditModel, "data", watched)
    desk = DeskWindow(with_charts=False)
    window = AuditWindow(desk.look, desk.window)
    lines = tuple(AuditLine(n, (str(n), "a", "b", "c", "d", "e"), "all") for n in range(400))
    window.show_state(AuditState(lines, "", {}))
    window.show()
    desk.settle()
    window.close()
    desk.use_theme("light")
    desk.settle()

    assert 0 in read
    assert len(read) < 60
    desk.close()
