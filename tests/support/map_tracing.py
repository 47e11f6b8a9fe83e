"""A model's training step as a program, from a process of its own."""

import sys

import msgspec


def main(name: str, optimizer: str) -> None:
    """Print the program of a model of `all_models`."""
    from kmonitor_agent.frameworks.step_tracing import trace  # noqa: PLC0415 - only in the child
    from tests.support.all_models import compiled  # noqa: PLC0415

    sys.stdout.buffer.write(msgspec.json.encode(trace(compiled(name, optimizer))))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
