"""Actions tried against growth, as text: what they freed, and which did not help."""

from kmonitor.ui.text.formats import bytes_text, count_text
from kmonitor.ui.text.language import tr
from kmonitor_agent.wire.messages.events import Verdict
from kmonitor_agent.wire.messages.verdict_events import TriedAction


def in_vain_text(verdict: Verdict) -> str:
    """Actions that freed hardly any memory: "collect and reload did not help"."""
    in_vain = [_action_name(each) for each in verdict.tried if not each.did_help]
    if not in_vain:
        return ""
    *others, last = in_vain
    if others:
        last = tr("{actions} and {last}").format(actions=", ".join(others), last=last)
    return tr("{actions} did not help").format(actions=last)


def _action_name(tried: TriedAction) -> str:
    names = {"collect": tr("collect"), "reload": tr("reload"), "restart": tr("restart")}
    return names.get(tried.action, tried.action)


def tried_text(verdict: Verdict) -> str:
    """Memory that each action freed, the last time that it ran."""
    texts = [_tried_action_text(each) for each in verdict.tried]
    return tr("Tried: {what}").format(what="; ".join(texts)) if texts else ""


def _tried_action_text(tried: TriedAction) -> str:
    given = bytes_text(tried.given_back_bytes) if tried.given_back_bytes else tr("nothing")
    action = _action_name(tried)
    text = tr("{action} freed {given}").format(action=action, given=given)
    if tried.risen_bytes:
        text = tr("{action} freed {given} of {risen}").format(
            action=action, given=given, risen=bytes_text(tried.risen_bytes)
        )
    if tried.times == 1:
        return text
    return tr("{text} (the last of {n} times)").format(text=text, n=count_text(tried.times))
