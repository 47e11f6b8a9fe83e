"""Keys and the audit on the command line: from a device's first key to its revocation."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kmonitor.cli.doctor.command import examine
from kmonitor.cli.hub.command import print_listen_address
from kmonitor.cli.main import main
from kmonitor.cli.purge import find_own_files
from kmonitor_agent.wire.local.folders import Folders
from tests.support.direct_hub import BIND, ListeningHub, listening
from tests.support.live_hub import LiveHub
from tests.support.simulated_agent import SimulatedAgent

pytestmark = pytest.mark.slow

Say = Callable[..., tuple[int, str, str]]


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    def run(*arguments: str) -> tuple[int, str, str]:
        status = main(list(arguments))
        told = capsys.readouterr()
        return status, told.out, told.err

    return run


@pytest.fixture
def hub(folders: Folders) -> Iterator[ListeningHub]:
    yield from listening(folders)


def test_a_device_is_let_in_looks_may_not_command_and_is_revoked(
    hub: ListeningHub, say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("KMONITOR_HOME", str(tmp_path / "laptop"))
    _, mine, hint = say("keys", "mine")
    key = mine.strip()
    assert f"kmonitor authorize {key} --role viewer --name NAME" in hint
    status, _, why = say("runs", "--hub", hub.address.url)
    assert (status, f"kmonitor authorize {key}" in why) == (1, True)

    monkeypatch.setenv("KMONITOR_HOME", str(hub.live.folders.state))
    status, told, _ = say("authorize", key, "--role", "viewer", "--name", "anna laptop")
    assert (status, hub.address.url in told) == (0, True)
    assert key in say("keys", "list")[1]

    monkeypatch.setenv("KMONITOR_HOME", str(tmp_path / "laptop"))
    with SimulatedAgent(hub.live.folders, name="resnet") as agent:
        agent.start_fit()
        agent.wait_acked()
        assert "resnet" in say("runs", "--hub", hub.address.url)[1]
        assert say("show", "resnet", "--hub", hub.address.url)[0] == 0
        export = ("export", "resnet", "--format", "json", "--hub", hub.address.url)
        assert '"session"' in say(*export)[1]
        status, _, why = say("command", "resnet", "save", "--hub", hub.address.url)
    assert status == 1
    assert (
        'the key "anna laptop" has the role viewer and may not send commands to training runs'
        in why
    )
    assert "--role operator --name NAME --replace" in why  # without, a known key is refused

    monkeypatch.setenv("KMONITOR_HOME", str(hub.live.folders.state))
    assert say("keys", "revoke", "anna laptop")[0] == 0
    _all_is_written_down(say)

    monkeypatch.setenv("KMONITOR_HOME", str(tmp_path / "laptop"))
    assert say("runs", "--hub", hub.address.url)[0] == 1


def _all_is_written_down(say: Say) -> None:
    status, _, why = say("keys", "revoke", "anna laptop")
    assert (status, 'no key has the name or the value "anna laptop"' in why) == (1, True)
    rows = say("audit")[1].splitlines()
    assert [line.split()[-1] for line in rows[1:] if "authorize" in line] == ["viewer"]
    assert any(
        "anna laptop (key" in line and "refused: its role is viewer" in line for line in rows
    )
    assert any("unknown keys" in line and "no access" in line for line in rows)
    assert any("revoke" in line and line.rstrip().endswith("done") for line in rows)
    assert say("audit", "--json", "--last", "1")[1].startswith('[{"row":')


def test_a_key_that_is_known_keeps_its_role_unless_it_is_to_be_replaced(
    hub: ListeningHub, say: Say
):
    del hub
    assert say("authorize", "ab" * 32, "--role", "viewer", "--name", "anna")[0] == 0
    other = ("authorize", "ab" * 32, "--role", "operator", "--name", "bob")

    status, _, why = say(*other)
    assert (status, 'already authorized as "anna" (viewer)' in why, "--replace" in why) == (
        2,
        True,
        True,
    )
    assert "operator" not in say("keys", "list")[1]

    status, told, _ = say(*other, "--replace")
    assert (status, 'It was "anna" (viewer) until now' in told) == (0, True)
    assert "role operator, was anna, viewer" in say("audit")[1]


def test_what_is_no_key_no_name_or_no_address_is_refused_with_what_to_write(say: Say):
    for arguments, why in (
        (("authorize", "abc", "--role", "viewer", "--name", "x"), "64 hexadecimal digits"),
        (("authorize", "ab" * 32, "--role", "viewer", "--name", "!x"), "start with a letter"),
        (
            ("authorize", "ab" * 32, "--role", "viewer", "--name", "!" * 5000),
            "!!!\N{HORIZONTAL ELLIPSIS}!!!",
        ),
        (("authorize", "ab" * 32, "--role", "boss", "--name", "x"), "boss"),
        (("runs", "--hub", "gpu-01"), "use tcp://HOST:PORT?key=KEY"),
        (("runs", "--hub", "tcp://gpu-01:5577"), "has no key"),
        (("keys", "lst"), "Did you mean kmonitor keys list?"),
        (("hub", "--bind", "here"), "Use the form ADDRESS:PORT"),
    ):
        status, _, told = say(*arguments)
        assert status != 0
        assert why in told, arguments
        assert len(told) < 1000


def test_a_key_of_trainings_is_another_one(say: Say, folders: Folders):
    _, mine, _ = say("keys", "mine")
    _, of_trainings, hint = say("keys", "mine", "--agent")

    assert mine != of_trainings
    assert "--role agent" in hint


def test_a_readable_secret_is_told_with_what_to_do(say: Say, folders: Folders):
    say("keys", "mine")
    (folders.state / "keys" / "desktop.key").chmod(0o644)

    status, _, why = say("keys", "mine")

    assert status == 1
    assert "can be read by others" in why
    assert "remove it" in why


def test_a_list_of_keys_that_is_open_to_others_is_told_and_kept(
    hub: ListeningHub, say: Say, folders: Folders
):
    assert say("authorize", "ab" * 32, "--role", "viewer", "--name", "anna")[0] == 0
    path = folders.state / "keys" / "authorized.json"
    path.chmod(0o666)
    why = (
        "can be read or written by other users; check which keys it lists, then run: chmod 600"
        f" {path}"
    )

    for words in (
        say("keys", "list")[2],
        say("authorize", "cd" * 32, "--role", "viewer", "--name", "bob")[2],
        say("keys", "revoke", "anna")[2],
    ):
        assert why in words
    finding = {each.subject: each for each in examine(folders)}["list of keys"]
    assert (finding.state, f"chmod 600 {path}" in finding.remedy) == ("bad", True)

    path.chmod(0o600)
    assert "anna" in say("keys", "list")[1]


def test_a_hubs_start_tells_that_its_list_of_keys_is_damaged(
    folders: Folders, capsys: pytest.CaptureFixture[str]
):
    path = folders.state / "keys" / "authorized.json"
    path.parent.mkdir(parents=True, mode=0o700)
    path.touch(0o600)
    path.write_text("{")
    live = LiveHub(folders)
    live.start("--bind", BIND)
    try:
        print_listen_address(folders)
    finally:
        live.kill()

    assert f"{path} is damaged" in capsys.readouterr().err


@pytest.mark.promise(13)
def test_purge_knows_every_file_of_ours(say: Say, folders: Folders):
    say("keys", "mine")
    say("keys", "mine", "--agent")

    assert [path.name for path in find_own_files(folders).ours] == ["agent.key", "desktop.key"]
