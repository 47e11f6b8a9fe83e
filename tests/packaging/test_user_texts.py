"""The table of user texts finds what a user can read, and is up to date."""

from pathlib import Path

import pytest
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


@pytest.mark.parametrize(
    "text",
    [
        "--mode works only with reload and auto.",
        'hub is empty; use hub="off" for no hub, or leave it out.',
        "is accessible to other users; run: chmod 700 {path}",
        "text is not UTF-8",
        "SOURCE, OR WHY MISSING",
        "LAST ERROR",
        "RAM, 10 MIN",
        "a folder",
        "hub problem",
        "{kind}, local",
        "Save + clear + reload",
        "Hub      {name}",
    ],
)
def test_a_text_that_resembles_code_is_listed(tmp_path: Path, text: str):
    assert _listed(tmp_path, text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "text/plain; charset=utf-8",
        "color: {colour};",
        "border: 1px solid {border}; padding: 3px 0;",
        "body{margin: 0; color: red}",
        "<td width='30%'>{text}</td>",
        "SELECT host FROM hubs WHERE number = ?",
        "{title}: {text}",
    ],
)
def test_code_is_not_listed(tmp_path: Path, text: str):
    assert _listed(tmp_path, text) == []


def _listed(folder: Path, text: str) -> list[str]:
    (folder / "code").mkdir()
    (folder / "code" / "one.py").write_text(f"show({text!r})\n")
    return list(user_texts(folder, ("code",)))


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
