"""Brings the catalogues under `resources/languages` up to date with the code, and compiles them.

Run by `make languages`, before and after translating: new texts appear in the `.ts` files, marked
unfinished; what the code says no more goes; the `.qm` files beside them are what the window loads.
It also writes `tests/data/user_texts.tsv`: every text that a user can read, for a review.
"""

import subprocess
import sys
from pathlib import Path

from kmonitor_languages.catalogue import Catalogue, merged, read_catalogue, write_catalogue
from kmonitor_languages.source_texts import find_texts
from kmonitor_languages.user_texts import table_text, user_texts

ROOT = Path(__file__).resolve().parents[1]
LANGUAGES = ("zh_CN",)
FOLDERS = ("kmonitor",)
TABLE = ROOT / "tests" / "data" / "user_texts.tsv"
_COMPILER = Path(sys.executable).parent / "pyside6-lrelease"


def main() -> int:
    """Refresh and compile every catalogue, and give the exit status."""
    texts, faults = find_texts(ROOT, FOLDERS)
    for fault in faults:
        print(f"{fault.place}: {fault.what}", file=sys.stderr)
    for language in LANGUAGES:
        path = catalogue_path(language)
        old: Catalogue = read_catalogue(path) if path.exists() else {}
        entries = merged(texts, old)
        write_catalogue(path, language, texts, entries)
        todo = sum(not entry.is_finished for entry in entries.values())
        print(f"languages: {language}: {len(entries)} texts, {todo} to translate")
        _compile(path)
    all_texts = user_texts(ROOT)
    TABLE.write_text(table_text(all_texts), encoding="utf-8")
    print(f"languages: {len(all_texts)} texts that a user can read, in {TABLE.relative_to(ROOT)}")
    return 1 if faults else 0


def catalogue_path(language: str) -> Path:
    """File of the translations into a language."""
    return ROOT / "resources" / "languages" / f"kmonitor_{language}.ts"


def _compile(path: Path) -> None:
    command = [str(_COMPILER), "-silent", str(path), "-qm", str(path.with_suffix(".qm"))]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
