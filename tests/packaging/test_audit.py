"""A silent index is reported as NOT RUN, never as good news."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from audit import FOUND, KNOWN_BAD, NOT_RUN, Hole, NoAnswer, ask, audit
from kmonitor_setup.lock_file import Pin
from typing_extensions import override

from tests.support.loopback import refusing_url as refusing_url  # noqa: PLC0414 - a fixture
from tests.support.waiting import DEADLINE_S

PINS = [Pin("good", "good==1.0", ("sha256:0",), frozenset()),
        Pin("bad", "bad==2.0 ; sys_platform == 'win32'", ("sha256:0",), frozenset())]  # fmt: skip

CANARY = Hole(*KNOWN_BAD, "CVE-2016-10745", ("2.8.1",))

ADVISORY = {"id": "PYSEC-1", "aliases": ["GHSA-x", "CVE-2020-1"], "fixed_in": ["2.1"]}


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        told: dict[str, object] = {"/bad/2.0/json": {"vulnerabilities": [ADVISORY]}}
        told["/good/1.0/json"] = {"vulnerabilities": [{**ADVISORY, "withdrawn": "2021"}]}
        told["/bare/1/json"] = {"info": {}}
        self.send_response(200 if self.path in told else 404)
        self.end_headers()
        self.wfile.write(json.dumps(told.get(self.path)).encode())

    @override
    def log_message(self, format: str, *args: object):
        pass


@pytest.fixture
def index() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), name="index")
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join(DEADLINE_S)


def test_what_an_index_tells_of_a_version_is_read(index: str):
    assert ask(index, "bad", "2.0") == [Hole("bad", "2.0", "CVE-2020-1, PYSEC-1", ("2.1",))]
    assert ask(index, "good", "1.0") == []


@pytest.mark.promise(37)
@pytest.mark.parametrize(("name", "version"), [("bare", "1"), ("nowhere", "1")])
def test_an_answer_without_advisories_is_no_answer(index: str, name: str, version: str):
    with pytest.raises(NoAnswer, match=f"{name}/{version}"):
        ask(index, name, version)


def test_an_index_that_is_not_there_is_no_answer(refusing_url: str):
    with pytest.raises(NoAnswer):
        ask(refusing_url, "bad", "2.0")


def test_holes_are_told_with_the_version_that_mends_them(capsys: pytest.CaptureFixture[str]):
    known = {KNOWN_BAD: [CANARY], ("bad", "2.0"): [Hole("bad", "2.0", "CVE-2020-1", ("2.1",))]}

    status = audit(PINS, lambda name, version: known.get((name, version), []))

    said = capsys.readouterr().out
    assert status == FOUND
    assert "bad 2.0: CVE-2020-1; mended in 2.1" in said
    assert "2 of 2 packages, 1 holes" in said


def test_no_hole_in_any_package_is_good(capsys: pytest.CaptureFixture[str]):
    status = audit(PINS, lambda name, version: [CANARY] if (name, version) == KNOWN_BAD else [])

    assert status == 0
    assert "NOT RUN" not in capsys.readouterr().out


def test_an_index_that_knows_no_holes_at_all_is_not_believed(capsys: pytest.CaptureFixture[str]):
    assert audit(PINS, lambda _name, _version: []) == NOT_RUN
    assert "NOT RUN" in capsys.readouterr().out


@pytest.mark.promise(37)
def test_one_package_without_an_answer_is_not_passed_over(capsys: pytest.CaptureFixture[str]):
    def ask_for(name: str, version: str) -> list[Hole]:
        if name == "good":
            raise NoAnswer("good is silent")
        return [CANARY] if (name, version) == KNOWN_BAD else []

    assert audit(PINS, ask_for) == NOT_RUN
    assert "1 of 2 packages" in capsys.readouterr().out
