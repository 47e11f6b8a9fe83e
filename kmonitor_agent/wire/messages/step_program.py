"""A training step as its framework would run it: operations with sizes that follow the batch."""

import msgspec


class SizeFormula(msgspec.Struct, frozen=True, array_like=True):
    """A size: `factor` times the product of `offset + slope * batch` over `terms`.

    Attributes:
        factor: Bytes, or multiplications, that no batch changes.
        terms: (offset, slope) of each axis that grows with the batch.
    """

    factor: int
    terms: tuple[tuple[float, float], ...] = ()

    def at(self, batch: int) -> int:
        """The size for a batch."""
        size = float(self.factor)
        for offset, slope in self.terms:
            size *= max(0.0, offset + slope * batch)
        return round(size)


class StepOperation(msgspec.Struct, frozen=True, array_like=True):
    """One operation of a graph.

    Attributes:
        kind: As the framework names it: "Conv2D".
        inputs: (operation, output) of each tensor that it reads, as places in the graph.
        after: Operations that must have ended.
        sizes: Of each output in bytes, as a place among the program's extents; -1: none.
        work: Multiplications that it does, likewise; -1: hardly any.
        workspace: Bytes of each buffer that it takes while it runs, likewise.
        beside: Bytes that it makes beside its first output, to last as long, likewise; -1: none.
        layer: Place among the program's layers; -1: of none.
        phase: 0 forward, 1 backward, 2 what updates and measures.
        variable: Place among the program's variables, of a handle; -1: it is none.
        bodies: Graphs that it runs, as places among the program's: of a loop the condition and
            the body, else branches or what is called.
        trips: How often a loop turns; None where data decide.
    """

    kind: str
    inputs: tuple[tuple[int, int], ...] = ()
    after: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    work: int = -1
    workspace: tuple[int, ...] = ()
    beside: int = -1
    layer: int = -1
    phase: int = 0
    variable: int = -1
    bodies: tuple[int, ...] = ()
    trips: int | None = None


class StepGraph(msgspec.Struct, frozen=True, array_like=True):
    """Operations in the order they were made, and what comes in and goes out.

    Attributes:
        operations: Each after those whose outputs it reads.
        arguments: Operations that represent a caller's arguments, in its order.
        results: (operation, output) of what goes back to it.
    """

    operations: tuple[StepOperation, ...]
    arguments: tuple[int, ...] = ()
    results: tuple[tuple[int, int], ...] = ()


class StepProgram(msgspec.Struct, frozen=True):
    """A whole step.

    Attributes:
        graphs: The step's own first, then those of loops, branches and calls.
        extents: Sizes, each once.
        layers: Names of layers, with those of the models that they are nested in.
        variables: Bytes of each variable.
        created_variables: (variable, whether its first values were drawn) in the order of making.
        unknown: Outputs whose size is not known; they count as their largest input.
        seconds: It took to trace.
        unseen_bytes: Smaller tensors are not counted by the allocator that it was traced for.
        sums_above_bytes: Where a step of a fixed batch is estimated to need more, its sums are
            added up in turn; None: never.
        notes: What had to be assumed, in words.
        is_rewritten: Whether TensorFlow runs what its rewriting made of the step.
    """

    graphs: tuple[StepGraph, ...]
    extents: tuple[SizeFormula, ...]
    layers: tuple[str, ...] = ()
    variables: tuple[int, ...] = ()
    created_variables: tuple[tuple[int, bool], ...] = ()
    unknown: int = 0
    seconds: float = 0.0
    unseen_bytes: int = 0
    sums_above_bytes: int | None = None
    notes: tuple[str, ...] = ()
    is_rewritten: bool = True
