"""The table of user texts finds what a user can read, and is up to date."""

from pathlib import Path

from kmonitor_languages.user_texts import table_text, user_texts
from make_languages import TABLE

from tests.support.source_tree import ROOT


def test_table_of_user_texts_is_up_to_date():
    listed = TABLE.read_text(encoding="utf-8").splitlines()
    written = table_text(user_texts(ROOT)).splitlines()

    assert written == listed, "run packaging/make_languages.py"


def test_texts_are_found_without_docstrings_and_names(tmp_path: Path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "one.py").write_text(
        '"""Not shown to a user."""\n'
        'LABEL = tr("RAM")\n'
        'raise UserError(f"No run {self.name}.", "Run it again.")\n'
        'cursor.execute("no table of this name")\n'
        'names = {"some_key": "some_value"}\n'
    )

    assert user_texts(tmp_path, ("code",)) == {
        "RAM": "code/one.py",
        "No run {name}.": "code/one.py",
        "Run it again.": "code/one.py",
    }


def test_help_of_a_command_is_listed_by_argument(tmp_path: Path):
    folder = tmp_path / "kmonitor" / "cli"
    folder.mkdir(parents=True)
    (folder / "main.py").write_text('COMMANDS = {"run": "kmonitor.cli.run:run_script"}\n')
    (folder / "run.py").write_text(
        "def run_script(name):\n"
        '    """Run a script.\n\n    Args:\n'
        '        name: Of the script.\n            A path.\n    """\n'
    )

    assert list(user_texts(tmp_path, ("kmonitor",))) == [
        "Run a script.",
        "name: Of the script. A path.",
    ]
