"""One of several workers under a strategy: its actions on its own. A separate process."""

import json
import os
import sys
from pathlib import Path
from typing import Any


def main(index: int, ports: list[str], folder: Path) -> None:
    """Step together, act, step together again; print what each action said and the state."""
    addresses = [f"127.0.0.1:{port}" for port in ports]
    os.environ["TF_CONFIG"] = json.dumps(
        {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    )
    import tensorflow as tf  # noqa: PLC0415 - reads the cluster from the environment

    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    from tests.frameworks.exactness import data, models  # noqa: PLC0415
    from tests.support.exactness import seed_keras, state_of  # noqa: PLC0415

    seed_keras(7)
    with strategy.scope():
        model = models.dense()
        model.optimizer.build(model.trainable_variables)
    batch = data.arrays()
    x, y = (tf.constant(batch[key][index * 8 : index * 8 + 8]) for key in "xy")

    @tf.function
    def step() -> Any:
        """Keras 3's own `fit` fails with several workers, so the script has its own step."""

        def one() -> Any:
            """On this worker's replica; gradients are summed over all."""
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
            gradients = tape.gradient(loss, model.trainable_variables)
            model.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            return loss

        return strategy.run(one)

    step()
    told = _acted(model, folder)
    step()
    told["weights"] = [value.tobytes().hex() for _, value in state_of(model)[:2]]
    print(json.dumps(told))  # noqa: T201 - how the test hears of it


def _acted(model: Any, folder: Path) -> dict[str, Any]:
    from kmonitor_agent.frameworks.detection import framework_for  # noqa: PLC0415 - after the strategy
    from kmonitor_agent.reclaim.actions import collect, reload, save  # noqa: PLC0415
    from kmonitor_agent.reclaim.checkpoint_seal import CheckpointTag  # noqa: PLC0415
    from kmonitor_agent.reclaim.checkpoints import CheckpointStore  # noqa: PLC0415
    from tests.support.exactness import state_of  # noqa: PLC0415

    framework, store, tag = (
        framework_for(model),
        CheckpointStore(folder),
        CheckpointTag("run", 1, 0),
    )
    before = state_of(model)
    outcomes = [
        save(framework, model, store, tag=tag),
        reload(framework, model, store, tag=tag),
        collect(framework, model),
    ]
    after = state_of(model)
    return {
        "outcomes": [(each.action, each.ok, each.why) for each in outcomes],
        "files": sorted(path.name for path in folder.glob("*")),
        "is_unchanged": [v.tobytes() for _, v in before] == [v.tobytes() for _, v in after],
    }


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2].split(","), Path(sys.argv[3]))
