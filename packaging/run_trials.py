"""Tries kmonitor where a contributor's own environment does not show it: `make test-full`.

Each trial makes its own environment below `.setup/trials`, which may be deleted at any time.
Names on the command line pick trials.
"""

import sys
import time

from kmonitor_trials import backends, debian, environments, image, packed, tf_keras, wheel
from kmonitor_trials.outcome import CannotTry, Failed, tell

TRIALS = {
    "wheel": wheel.try_wheel,
    "wheel-window": wheel.try_window,
    "built": packed.try_built,
    "image-file": image.lint_image,
    "image": image.try_image,
    "deb": lambda: packed.try_deb("trixie"),
    "without-framework": environments.try_without_framework,
    "without-qt": environments.try_without_qt,
    "floors": environments.try_floors,
    "jax": backends.try_jax,
    "torch": backends.try_torch,
    "tf-keras": tf_keras.try_newest,
    "tf-keras-floor": tf_keras.try_oldest,
    "debian13": lambda: debian.try_release("trixie"),
    "debian12": lambda: debian.try_release("bookworm"),
}

BY_NAME = ("debian12", "image")
"""Debian 12 is what most of us sit at; the image needs an engine that few machines have."""

USUAL = [name for name in TRIALS if name not in BY_NAME]


def main(names: list[str]) -> int:
    """Run the trials and give the exit status: 0 only when each of them was run and passed."""
    unknown = set(names) - set(TRIALS)
    if unknown:
        print(f"no such trial: {', '.join(sorted(unknown))}; there are {', '.join(TRIALS)}")
        return 2
    counts = {"passed": 0, "failed": 0, "NOT RUN": 0}
    told: list[str] = []
    for name in names or USUAL:
        began_s = time.monotonic()
        verdict, why = _outcome_of(name)
        counts[verdict] += 1
        told.append(f"trial {name:18} {verdict:8} {time.monotonic() - began_s:5.0f} s  {why}")
        tell(told[-1])
    print("\n" + "\n".join(told))
    print(f"trials: {counts['passed']} passed, {counts['failed']} failed", end="")
    print(f", {counts['NOT RUN']} not run" if counts["NOT RUN"] else "")
    return 0 if counts["passed"] == len(told) else 1


def _outcome_of(name: str) -> tuple[str, str]:
    tell(f"trial {name}")
    try:
        TRIALS[name]()
    except CannotTry as exc:
        return "NOT RUN", str(exc)
    except Failed as exc:
        return "failed", str(exc)
    return "passed", ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
