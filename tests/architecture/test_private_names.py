"""Tests use what is public: a private name that they reach for holds a former cut of the code."""

import ast
from collections.abc import Iterator

from tests.support.source_tree import source_files

REASONS = {
    "tests/benchmarks/bench_collect.py": "TensorFlow's registry of gradients",
    "tests/benchmarks/bench_hooks.py": "Keras' TensorBoard has its writer so",
    "tests/frameworks/backends/test_jax.py": "Keras' state of JAX",
    "tests/frameworks/exactness/test_recreate_failures.py": "a Keras variable that fails",
    "tests/frameworks/tf_keras/v1_training.py": "tf_keras' step function and session",
    "tests/kmonitor_agent/frameworks/test_keras_layout.py": "Keras' inbound nodes",
    "tests/kmonitor_agent/frameworks/test_retracing.py": "TensorFlow's counts of retracing",
    "tests/kmonitor_agent/wire/messages/test_training_metrics.py": "Keras' asynchronous logs",
    "tests/leaks/corpus.py": "TensorFlow's registry of gradients",
    "tests/support/leaking.py": "TensorFlow's registry of gradients",
    "tests/support/process_state.py": "global state of other packages",
}
"""Files that use private names, all of other packages, and for what."""


def test_tests_use_private_names_only_where_there_is_a_reason():
    using = {file.name for file in source_files("tests") if any(_private_names(file.tree))}

    assert using == REASONS.keys()


def _private_names(tree: ast.Module) -> Iterator[str]:
    """Attributes of others and imported names that begin with one underscore."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name("self" | "cls")):
                pass
            case ast.Attribute(value=ast.Name("os"), attr="_exit"):
                pass  # documented, as is `os.abort`
            case ast.Attribute(attr=name) if _is_private(name):
                yield name
            case ast.ImportFrom(names=names):
                yield from (each.name for each in names if _is_private(each.name))
            case _:
                pass


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")
