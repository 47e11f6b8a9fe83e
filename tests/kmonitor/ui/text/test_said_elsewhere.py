"""Sentences of trainings and hosts, in the window's language where their form is known."""

from collections.abc import Iterator

import pytest

from kmonitor.alerts.delivery import invalid_command_reason, invalid_webhook_reason
from kmonitor.connect.host_errors import (
    HostError,
    no_forwarding,
    not_found,
    ssh_error,
    too_new,
    too_old,
)
from kmonitor.ui.text.hub_text import translated_text
from kmonitor.ui.text.language import use_translation
from kmonitor_agent.recording.fit import MEAN_STEP_SOURCE, STEP_SOURCE

WORDS = {
    "start to start": "a",
    "limit {metric} {amount}": "{amount} von {metric}",
    "ram": "Speicher",
    "{allocator} allocator, {device}": "{device}, {allocator}",
    "{allocator} allocator, {device} in use": "belegt: {device}, {allocator}",
    "{host} is not responding.": "{host} schweigt.",
    "command {name}": "Befehl {name}",
    "save": "sichern",
    "refused: {why}": "verweigert: {why}",
    "viewer": "Zuschauer",
    "{n} traces held by `{name}` (a tf.function in the script)": "`{name}` h\u00e4lt {n}",
}


@pytest.fixture
def _other_language() -> Iterator[None]:
    use_translation(lambda text: WORDS.get(text, text))
    yield
    use_translation(str)


@pytest.mark.usefixtures("_other_language")
@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("start to start", "a"),
        ("limit ram 128 GiB", "128 GiB von Speicher"),
        ("tensorflow allocator, GPU:0", "GPU:0, tensorflow"),
        ("tensorflow allocator, GPU:0 in use", "belegt: GPU:0, tensorflow"),
        ("gpu-{01} is not responding.", "gpu-{01} schweigt."),
        ("command save", "Befehl sichern"),
        ("refused: viewer", "verweigert: Zuschauer"),
        ("2 traces held by `f` (a tf.function in the script)", "`f` h\u00e4lt 2"),
        ("a sentence of a later version", "a sentence of a later version"),
        ("", ""),
    ],
)
def test_what_is_known_is_translated_and_the_rest_stays(told: str, shown: str):
    assert translated_text(told) == shown


_TROUBLES = (
    not_found("gpu-01", ["kmonitor on the PATH of a login shell (no such program)"]),
    too_old("gpu-01", "0.0.3"),
    too_old("gpu-01", ""),
    too_new("gpu-01", "9.0"),
    no_forwarding("gpu-01"),
    HostError("disabled", "gpu-01", "On gpu-01: start to start"),
    *(
        ssh_error("gpu-01", said_by_ssh)
        for said_by_ssh in (
            "ssh: Could not resolve hostname gpu-01: Name or service not known",
            "ada@gpu-01: Permission denied (publickey).",
            "WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!",
            "Host key verification failed.",
            "ssh: connect to host gpu-01 port 22: Connection timed out",
            "ssh: connect to host gpu-01 port 22: Connection refused",
        )
    ),
)


@pytest.mark.parametrize(
    "told", [text for each in _TROUBLES for text in (each.what, each.remedy) if text]
)
def test_why_a_host_is_not_reached_and_what_to_do_is_known(told: str):
    use_translation(lambda text: f"~{text}")
    try:
        assert translated_text(told).startswith("~")
    finally:
        use_translation(str)


@pytest.mark.parametrize(
    "told", ["start to start", "limit ram 128 GiB", "gpu-{01} is not responding.", "odd {braces}"]
)
def test_english_stays_as_it_was_said(told: str):
    assert translated_text(told) == told


@pytest.mark.parametrize(
    ("told", "form"),
    [
        (
            "tensorflow allocator, CPU:0 in use (tensors of 256 KiB or more)",
            "{allocator} allocator, {device} in use ({sees})",
        ),
        (
            "tensorflow allocator, CPU:0 peak (tensors of 256 KiB or more)",
            "{allocator} allocator, {device} peak ({sees})",
        ),
        (STEP_SOURCE.source, STEP_SOURCE.source),
        (MEAN_STEP_SOURCE.source, MEAN_STEP_SOURCE.source),
        (invalid_command_reason('"'), "The command cannot be parsed: {why}."),
        (invalid_command_reason("no-such-mail me"), "The program was not found: {name}"),
        (
            invalid_command_reason("echo > me"),
            (
                '"{word}" needs a shell, but the command runs without one.'
                " Use: sh -c '...', or put the command in a script."
            ),
        ),
        (invalid_webhook_reason("x"), invalid_webhook_reason("x")),
        (
            "The alert command exited with status 3. no mail",
            "The alert command exited with status {status}. {said}",
        ),
        (
            "The alert webhook at example.org could not be reached: timed out.",
            "The alert webhook at {host} could not be reached: {why}.",
        ),
    ],
)
def test_sources_and_troubles_of_alerts_are_known_whole(told: str, form: str):
    forms: list[str] = []
    use_translation(lambda text: forms.append(text) or text)
    try:
        translated_text(told)
    finally:
        use_translation(str)

    assert form in forms
