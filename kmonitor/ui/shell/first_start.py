"""State of the page before the first run."""

from dataclasses import dataclass
from typing import Final

from kmonitor.ui.text.language import tr

SNIPPET: Final = (
    "from kmonitor_agent import MonitorCallback\n\nmodel.fit(..., callbacks=[MonitorCallback()])"
)
"""The two lines that a training script needs."""


@dataclass(frozen=True, slots=True)
class FirstStartState:
    """State of the page before the first run.

    Attributes:
        title: Title about the next event: the first run, or the start of the hub.
        text: Instructions.
        can_start_demo: True if the demo button is enabled.
        note: Text below the buttons; may be empty.
    """

    title: str
    text: str
    demo_button: str
    can_start_demo: bool
    note: str


def first_start_state(
    *, is_live: bool, is_demo_starting: bool, demo_error: str
) -> FirstStartState:
    """Return the state of the page.

    Args:
        is_live: True if the hub is connected.
        is_demo_starting: True if the demo's process was started and has not connected yet.
        demo_error: Reason why the demo could not start; empty: it could, or was not requested.
    """
    title = tr("Waiting for the first run") if is_live else tr("Starting the hub\u2026")
    text = tr(
        "Add the callback to your training script on this machine. The run appears here"
        " automatically, whether you start kmonitor or your script first."
    )
    note = ""
    if is_demo_starting:
        note = tr("The demo is starting; importing TensorFlow takes a few seconds.")
    if demo_error:
        note = demo_error
    button = tr("Starting the demo\u2026") if is_demo_starting else tr("Start the demo")
    return FirstStartState(title, text, button, not is_demo_starting, note)
