"""Runs in the store, and the texts where there is none."""

from kmonitor.ui.run_tree.run_tree import empty_tree_text, host_rows
from kmonitor.ui.runs.run_states import run_state_label, stall_advice
from kmonitor.ui.runs.run_store import MAX_SHOWN, RunStore
from kmonitor_agent.wire.messages.unions import RunSummary
from tests.support.made_up_runs import NOW_WALL_S, made_up_run, told_runs


def book_of(*runs: RunSummary, hub: str = "hub1") -> RunStore:
    book = RunStore()
    book.apply_reply(told_runs(*runs, hub=hub))
    return book


def test_the_newest_living_run_is_selected_at_first_and_stays_selected():
    ended = made_up_run("new", state="finished", started_wall_s=NOW_WALL_S)
    book = book_of(made_up_run("old", started_wall_s=1.0), made_up_run("live"), ended)

    assert book.selected == "live"
    assert not book.apply_reply(told_runs(made_up_run("newer", started_wall_s=NOW_WALL_S)))
    assert book.selected == "live"


def test_a_training_that_begins_is_selected_when_the_selected_one_has_ended():
    ended = made_up_run("old", state="finished", started_wall_s=1.0)
    book = book_of(ended)

    assert not book.apply_reply(
        told_runs(made_up_run("also old", state="lost", started_wall_s=2.0))
    )
    assert book.apply_reply(told_runs(made_up_run("new", started_wall_s=3.0)))
    assert book.selected == "new"


def test_a_run_that_the_user_picked_or_looks_at_closely_stays_selected_after_its_end():
    ended = made_up_run("old", state="finished", started_wall_s=1.0)
    picked, watched, wanted = book_of(ended), book_of(ended), RunStore()
    picked.select("old")
    watched.pin_selection()
    wanted.want("old")
    wanted.apply_reply(told_runs(ended))

    for book in (picked, watched, wanted):
        assert not book.apply_reply(told_runs(made_up_run("new", started_wall_s=3.0)))
        assert book.selected == "old"


def test_a_deleted_selection_moves_on_and_another_hub_begins_anew():
    book = book_of(made_up_run("a"), made_up_run("b", started_wall_s=1.0))
    told = told_runs()
    told.deleted.append("a")

    assert book.apply_reply(told)
    assert book.selected == "b"
    assert book.apply_reply(told_runs(made_up_run("c"), hub="hub2"))
    assert [run.run for run in book.runs()] == ["c"]
    assert book.get("a") is None


def test_of_two_hubs_with_one_history_the_one_that_keeps_a_run_tells_of_it():
    kept, shown = made_up_run("a"), made_up_run("a", is_elsewhere=True, actions=[])
    for first, second in (((kept, "gpu"), (shown, "")), ((shown, ""), (kept, "gpu"))):
        book = RunStore()
        book.apply_reply(told_runs(first[0], hub=f"of {first[1]}"), first[1])
        book.apply_reply(told_runs(second[0], hub=f"of {second[1]}"), second[1])

        assert book.at("a") == "gpu"
        assert book.get("a") == kept
        gone = told_runs(hub="of ")
        gone.deleted.append("a")
        book.apply_reply(gone, "")
        assert book.get("a") == kept


def test_a_run_can_be_wanted_by_name_id_beginning_or_last():
    for wanted, found in (("second", "beta"), ("beta", "beta"), ("be", "beta"), ("last", "alpha")):
        book = RunStore()
        book.want(wanted)
        book.apply_reply(
            told_runs(made_up_run("alpha"), made_up_run("beta", name="second", started_wall_s=1.0))
        )
        assert book.selected == found

    book = RunStore()
    book.want("nobody")
    book.apply_reply(told_runs())
    assert book.selected is None
    book.want("last")
    book.apply_reply(told_runs())
    assert book.current() is None


def test_selecting_tells_whether_it_was_another_run():
    book = book_of(made_up_run("a"), made_up_run("b", started_wall_s=1.0))

    assert book.select("b")
    assert not book.select("b")
    assert not book.select("nobody")
    assert book.beside_selected(-1) == "a"
    assert book.beside_selected(1) is None
    book.selected = None
    assert book.beside_selected(1) is None


def test_charts_show_the_selected_run_and_some_living_ones():
    assert RunStore().shown() == []
    living = [made_up_run(f"r{i}", started_wall_s=float(i)) for i in range(12)]
    book = book_of(*living, made_up_run("gone", state="lost"))
    book.select("gone")

    shown = [run.run for run in book.shown()]

    assert shown[0] == "gone"
    assert len(shown) == MAX_SHOWN


def test_names_lose_what_would_turn_the_panel_around():
    book = book_of(made_up_run("a", name="fold\u202e3\u2066 训练\u3000x\x07", host="gpu\u200f1"))

    shown = book.get("a")

    assert shown is not None
    assert shown.name.replace("\N{REPLACEMENT CHARACTER}", "?") == "fold?3? 训练 x?"
    assert shown.host == "gpu\N{REPLACEMENT CHARACTER}1"


def test_a_run_is_wanted_by_the_name_that_its_script_gave_it():
    name = "fold\u202e3\u2066 训练\u3000x\x07"
    book = RunStore()
    book.want(name)

    book.apply_reply(told_runs(made_up_run("b"), made_up_run("a", name=name)))

    assert book.selected == "a"


def test_a_run_keeps_its_colour_and_a_seventh_is_dashed():
    book = book_of(*(made_up_run(f"r{i}", started_wall_s=float(i)) for i in range(8)))

    hues = [book.hue(f"r{i}") for i in range(8)]

    assert hues == [book.hue(f"r{i}") for i in range(8)]
    assert sum(book.is_dashed(f"r{i}") for i in range(8)) == 2


def test_the_tree_groups_by_host_and_says_how_each_run_stands():
    book = book_of(
        made_up_run("a"),
        made_up_run("b", host="gpu-02", state="paused", started_wall_s=1.0),
        made_up_run("c", state="finished", started_wall_s=2.0, epochs_done=120),
        made_up_run("d", epoch=None, started_wall_s=3.0),
        made_up_run("e", epochs=0, ram=made_up_run().vram.__class__(), started_wall_s=4.0),
    )

    rows = host_rows(book, search="", now_wall_s=NOW_WALL_S, is_connected=True)
    by_run = {run.run: run for host in rows for run in host.runs}

    assert {host.host: host.note for host in rows} == {"gpu-01": "4 runs", "gpu-02": "1 run"}
    assert by_run["a"].line.startswith("epoch 37/90 · 73.4")
    assert 0.40 < (by_run["a"].fraction or 0) < 0.42
    assert by_run["b"].line == "Paused"
    assert by_run["c"].line.startswith("Finished")
    assert "120 epochs" in by_run["c"].line
    assert by_run["c"].is_pale
    assert by_run["c"].hue is None
    assert by_run["d"].line.startswith("Training · 73.4")
    assert by_run["d"].fraction is None
    assert by_run["e"].line == "epoch 37"
    assert "pid 48213" in by_run["a"].tooltip


def test_the_search_takes_words_of_name_and_host():
    book = book_of(made_up_run("a"), made_up_run("b", name="工作", host="lab"))

    def found(search: str) -> list[str]:
        rows = host_rows(book, search=search, now_wall_s=NOW_WALL_S, is_connected=True)
        return [run.run for host in rows for run in host.runs]

    assert found("RESNET gpu") == ["a"]
    assert found("工作") == ["b"]
    assert found("nobody") == []
    assert "nobody" in empty_tree_text(book, "nobody", is_connected=True)
    assert empty_tree_text(RunStore(), "", is_connected=True) == "No runs yet."
    assert empty_tree_text(RunStore(), "", is_connected=False).startswith("Connecting")


def test_a_training_that_makes_no_step_says_since_when_and_what_to_do():
    why = "no step for 25 s within an epoch; the longest pause before that was 1 s"
    run = made_up_run(state_why=why, stalled_wall_s=NOW_WALL_S - 38.0)
    picture = run_state_label(run, now_wall_s=NOW_WALL_S)

    assert (picture.label, picture.tone) == ("No step for 38\u202fs", "warn")
    assert picture.why.startswith("No step for 25 s within an epoch")
    assert "py-spy dump --pid 48213` on gpu-01" in picture.why
    (row,) = host_rows(book_of(run), search="", now_wall_s=NOW_WALL_S, is_connected=True)[0].runs
    assert row.line == "No step for 38\u202fs"
    lost = run_state_label(run, now_wall_s=NOW_WALL_S, is_connected=False)
    assert lost.label.startswith("No data for")
    assert stall_advice(made_up_run()) == ""


def test_a_silent_run_and_a_lost_hub_say_since_when():
    silent = made_up_run(state="silent", last_wall_s=NOW_WALL_S - 38)
    living = made_up_run(last_wall_s=NOW_WALL_S - 38)
    ended = made_up_run(state="failed", state_why="OOM", last_wall_s=NOW_WALL_S - 38)

    assert run_state_label(silent, now_wall_s=NOW_WALL_S).label == "No data for 38\u202fs"
    lost = run_state_label(living, now_wall_s=NOW_WALL_S, is_connected=False)
    assert (lost.label, lost.tone) == ("No data for 38\u202fs", "crit")
    failed = run_state_label(ended, now_wall_s=NOW_WALL_S, is_connected=False)
    assert (failed.label, failed.why) == ("Failed", "OOM")
    rows = host_rows(book_of(living), search="", now_wall_s=NOW_WALL_S, is_connected=False)
    assert rows[0].runs[0].line == "No data for 38\u202fs"
