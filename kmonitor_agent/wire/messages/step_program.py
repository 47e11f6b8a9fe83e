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
        """The size for a batch, in the unit of `factor`; negative axes count as 0."""
        size = float(self.factor)
        for offset, slope in self.terms:
            size *= max(0.0, offset + slope * batch)
        return round(size)


class StepOperation(msgspec.Struct, frozen=True, array_like=True):
    """One operation of a graph.

    Attributes:
        kind: As the framework names it: "Conv2D".
        inputs: (operation, output) of each tensor that it reads, as indices into the graph.
        after: Operations that must have ended.
        sizes: Size of each output in bytes, as an index into the program's extents; -1: none.
        work: Number of multiplications, as an index into the extents; -1: hardly any.
        workspace: Bytes of each buffer that it takes while it runs, as indices into the extents.
        beside: Bytes that it makes beside its first output, to last as long, as an index into the
            extents; -1: none.
        layer: Index into the program's layers; -1: none.
        phase: 0: forward, 1: backward, 2: updates and metrics.
        variable: Index into the program's variables, for a handle; -1: not a handle.
        bodies: Graphs that it runs, as indices into the program's: condition and body of a loop,
            or else the branches or the called function.
        trips: Number of iterations of a loop; None where the data decide.
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
    """Operations in the order of their creation, with arguments and results.

    Attributes:
        operations: Each follows those whose outputs it reads.
        arguments: Operations that represent the caller's arguments, in the caller's order.
        results: (operation, output) of each result for the caller.
    """

    operations: tuple[StepOperation, ...]
    arguments: tuple[int, ...] = ()
    results: tuple[tuple[int, int], ...] = ()


class StepProgram(msgspec.Struct, frozen=True):
    """A whole step.

    Attributes:
        graphs: The step's own first, then those of loops, branches and calls.
        extents: Sizes, each once.
        layers: Names of layers, with the names of the models that contain them.
        variables: Bytes of each variable.
        created_variables: (variable, True if its first values were drawn) in the order of
            creation.
        unknown: Number of outputs of unknown size; they count as their largest input.
        seconds: Duration of tracing, seconds.
        unseen_bytes: Size below which the allocator that it was traced for does not count a
            tensor.
        sums_above_bytes: Estimated need of a step with a fixed batch, bytes, above which its sums
            are added up one after another; None: never.
        notes: Assumptions, as text.
        is_rewritten: True if TensorFlow runs its rewritten form of the step.
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
