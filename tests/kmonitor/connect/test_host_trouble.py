"""ssh's own words, as OpenSSH 9 writes them, in the user's terms."""

import pytest

from kmonitor.connect.host_errors import ssh_error


@pytest.mark.parametrize(
    ("said", "code", "is_transient"),
    [
        (
            "ssh: Could not resolve hostname gpu-09: Name or service not known",
            "host_unknown",
            True,
        ),
        ("root@h: Permission denied (publickey).", "key_refused", False),
        (
            "Received disconnect from h port 22:2: Too many authentication failures",
            "key_refused",
            False,
        ),
        (
            "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!\nHost key verification failed.",
            "host_key_changed",
            False,
        ),
        (
            "No ED25519 host key is known for h and you have requested strict checking.",
            "host_key_unknown",
            False,
        ),
        ("ssh: connect to host h port 22: Connection refused", "refused", True),
        ("ssh: connect to host h port 22: Connection timed out", "silent", True),
        ("ssh: connect to host h port 22: No route to host", "silent", True),
        ("Timeout, server h not responding.", "silent", True),
        ("/home/me/.ssh/config: line 3: Bad configuration option: nonsense", "settings", False),
        ("channel 1: open failed: connect failed: No such file or directory", "no_hub", True),
        ("channel 1: open failed: administratively prohibited: open failed", "forwarding", False),
        ("Connection closed by remote host", "broken", True),
        ("", "broken", True),
    ],
)
def test_the_words_of_ssh_become_ours(said: str, code: str, is_transient: object):
    trouble = ssh_error("gpu-01", said)

    assert trouble.code == code
    assert trouble.is_transient == is_transient
    assert "gpu-01" in str(trouble) or code == "settings"


_CUT = "kex_exchange_identification: x\nConnection closed by UNKNOWN port 65535"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ("ssh: connect to host jump port 22: Connection refused", "refused"),
        ("me@jump: Permission denied (publickey).", "key_refused"),
    ],
)
def test_what_a_jump_host_refuses_is_not_told_of_the_host_behind_it(said: str, code: str):
    trouble = ssh_error("gpu-01", f"{said}\n{_CUT}")

    assert trouble.code == code
    assert "The jump host or proxy of gpu-01 failed" in trouble.what
    assert said in trouble.what
    assert "ssh-copy-id" not in trouble.remedy


def test_what_the_host_behind_a_jump_host_refuses_is_told_of_it():
    said = "channel 0: open failed: connect failed: Connection refused\nstdio forwarding failed"

    assert ssh_error("gpu-01", f"{said}\n{_CUT}").what == "gpu-01 refused the ssh connection."


def test_what_is_not_known_is_told_as_ssh_says_it():
    assert "kex_exchange: odd" in ssh_error("h", "banner\nkex_exchange: odd\n").what
