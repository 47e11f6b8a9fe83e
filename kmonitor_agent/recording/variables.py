"""A saved fit's variables put into the model that the script made again."""

from collections.abc import Sequence

from kmonitor_agent.frameworks.base import CannotBuild, KerasModel, ReclaimSteps, StateVariable
from kmonitor_agent.frameworks.resuming import taking_up
from kmonitor_agent.reclaim.restart.fit_state import (
    CannotResume,
    SavedFit,
    VariableFacts,
    shape_of,
)


def build_as_saved(steps: ReclaimSteps, model: KerasModel, saved: SavedFit) -> None:
    """Give the model every variable that it had when it was saved.

    Raises:
        CannotResume: It is another model, or cannot be built.
    """
    state, keras = saved.state, taking_up(model)
    try:
        keras.build_again(model, state.build_config, state.optimizers)
    except CannotBuild as exc:
        raise CannotResume(exc.why) from exc
    had_seed = any(_group(each.path) == "seed" for each in state.variables)
    if had_seed and not any(_group(each.path) == "seed" for each in steps.state(model)):
        keras.make_global_seed()


def restore_variables(steps: ReclaimSteps, model: KerasModel, saved: SavedFit) -> None:
    """Assign the saved values.

    Metrics are reset at each epoch's begin, and may not be built yet: when there are others than
    before they are left as they are.

    Raises:
        CannotResume: The model has other variables than before.
    """
    now = steps.state(model)
    targets = _targets(now, saved.state.variables)
    values = saved.values()
    for target in targets:
        value = next(values)
        if target is not None:
            steps.assign(target.variable, value)


def _targets(
    now: Sequence[StateVariable], before: Sequence[VariableFacts]
) -> list[StateVariable | None]:
    if _shapes_now(now, "metrics") == _shapes(before, "metrics"):
        left: list[StateVariable] = list(now)
    else:
        left = [each for each in now if _group(each.path) != "metrics"]
    has_metrics = any(_group(each.path) == "metrics" for each in left)
    targets: list[StateVariable | None] = []
    rest = iter(left)
    for facts in before:
        if _group(facts.path) == "metrics" and not has_metrics:
            targets.append(None)
            continue
        target = next(rest, None)
        if target is None or _differs(target, facts):
            is_now = "nothing" if target is None else _told(target.path, shape_of(target.variable))
            raise CannotResume(
                f"the model had {_told(facts.path, facts.shape)} where it now has {is_now}"
            )
        targets.append(target)
    extra = next(rest, None)
    if extra is not None and _group(extra.path) != "seed":
        raise CannotResume(f"the model has a variable that it had not before: {extra.path}")
    return targets


def _differs(target: StateVariable, facts: VariableFacts) -> bool:
    is_same = _group(target.path) == _group(facts.path)
    return not is_same or shape_of(target.variable) != facts.shape


def _told(path: str, shape: str) -> str:
    return f"{path} of shape {shape}"


def _shapes(facts: Sequence[VariableFacts], group: str) -> list[str]:
    return [each.shape for each in facts if _group(each.path) == group]


def _shapes_now(state: Sequence[StateVariable], group: str) -> list[str]:
    return [shape_of(each.variable) for each in state if _group(each.path) == group]


def _group(path: str) -> str:
    return path.partition("/")[0]
