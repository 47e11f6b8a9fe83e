"""Arguments that ssh is called with."""

import pytest

from kmonitor.connect import ssh
from kmonitor.connect.ssh import (
    BadAddress,
    NoForwarding,
    NoSsh,
    checked_address,
    free_socket,
    is_forwardable,
    remote_arguments,
    ssh_environment,
    tunnel_arguments,
)
from kmonitor_agent.wire.local.folders import SOCKET_PATH_LIMIT_BYTES, Folders


@pytest.mark.parametrize(
    "address", ["gpu-01", " me@gpu-01 ", "me.you@10.0.0.1", "gpu.example.org", "root@::1", "a_b"]
)
def test_hosts_are_taken_as_ssh_takes_them(address: str):
    assert checked_address(address) == address.strip()


@pytest.mark.promise(3)
@pytest.mark.parametrize(
    "address",
    [
        "",
        "-oProxyCommand=x",
        "me@-oProxyCommand=x",
        "a b",
        "a;b",
        "$(id)",
        "a`id`",
        "a\nb",
        "@a",
        "a'b",
        "me@",
        "ssh://a/b",
        "a|b",
        "x" * 256,
        "gpu-01:22",
        "me@gpu-01:22",
        "[::1]:22",
        "b\u00fccher",
    ],
)
def test_what_could_be_an_option_or_mean_something_to_a_shell_is_refused(address: str):
    with pytest.raises(BadAddress, match="not a host name"):
        checked_address(address)


@pytest.mark.promise(3)
def test_options_come_before_the_host_and_nothing_can_be_asked_back(folders: Folders):
    arguments = tunnel_arguments("me@gpu-01", "/run/view.sock", folders.runtime / "s1")

    assert arguments[-2:] == ["--", "me@gpu-01"]
    assert "-N" in arguments
    assert "-T" in arguments
    assert f"{folders.runtime}/s1:/run/view.sock" in arguments
    for option in (
        "BatchMode=yes",
        "ExitOnForwardFailure=yes",
        "ServerAliveInterval=5",
        "ServerAliveCountMax=2",
        "StreamLocalBindUnlink=yes",
        "StreamLocalBindMask=0177",
    ):
        assert arguments[arguments.index(option) - 1] == "-o"
    assert remote_arguments("gpu-01", "true")[-3:] == ["--", "gpu-01", "true"]


def test_without_ssh_the_line_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ssh.shutil, "which", lambda _name: None)

    with pytest.raises(NoSsh, match="openssh-client"):
        remote_arguments("gpu-01", "true")


def test_a_system_without_sockets_to_forward_is_told_what_works_there(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.delattr(ssh.socket, "AF_UNIX")

    with pytest.raises(NoForwarding, match="from Windows") as told:
        remote_arguments("gpu-01", "true")
    assert "--bind" in told.value.remedy


def test_sockets_are_short_enough_and_each_has_a_place_of_its_own(folders: Folders):
    places = {free_socket(folders) for _ in range(50)}

    assert len(places) == 50
    assert all(len(str(place).encode()) <= SOCKET_PATH_LIMIT_BYTES for place in places)
    assert is_forwardable("/run/user/1/view.sock")
    for path in ("run/view.sock", "/a:b", "/" + "x" * 200, "/a\nb"):
        assert not is_forwardable(path)


def test_ssh_opens_no_window_to_ask(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/agent")

    environ = ssh_environment()

    assert "DISPLAY" not in environ
    assert environ["SSH_AUTH_SOCK"] == "/agent"
    assert environ["LC_ALL"] == "C"
