"""Kinds of TensorFlow's operations by how they treat memory; the only such list."""

from typing import Final


def _kinds(names: str) -> frozenset[str]:
    return frozenset(names.split())


VIEWS: Final = _kinds(
    """Identity IdentityN Reshape ExpandDims Squeeze StopGradient PreventGradient CheckNumerics
    Bitcast EnsureShape PlaceholderWithDefault Snapshot Assign AssignAdd
    DestroyTemporaryVariable FirstAxisView"""
)
"""The output is the input under another name or shape, or a part that shares its memory."""

SAME_IF_AS_LARGE: Final = _kinds(
    """Sum Mean Max Min Prod Tile BroadcastTo Pad PadV2 MirrorPad Slice StridedSlice"""
)
"""Where the output is as large as the input there was nothing to do, and it is the input."""

FREE: Final = _kinds(
    """Shape ShapeN Size Rank NoOp VarHandleOp VariableShape Assert BroadcastGradientArgs
    TensorListLength TensorListElementShape"""
)
"""Nothing to speak of."""

_OF_ONE: Final = _kinds(
    """Relu Relu6 Elu Selu LeakyRelu Sigmoid Tanh Exp Expm1 Log Log1p Sqrt Rsqrt Square Neg Abs
    Sign Erf Erfc Sin Cos Softplus Softsign Reciprocal Inv Floor Ceil Round Rint BiasAdd Softmax
    LogSoftmax LogicalNot Lgamma Digamma ClipByValue"""
)
_OF_TWO: Final = _kinds(
    """Add AddV2 Sub Mul MulNoNan Div RealDiv DivNoNan Maximum Minimum Pow SquaredDifference
    FloorDiv FloorMod Xdivy Xlogy Atan2 LogicalAnd LogicalOr"""
)
_OF_GRADIENTS: Final = _kinds(
    """ReluGrad Relu6Grad EluGrad SeluGrad LeakyReluGrad SigmoidGrad TanhGrad SqrtGrad RsqrtGrad
    SoftplusGrad SoftsignGrad ReciprocalGrad InvGrad SparseSoftmaxCrossEntropyWithLogits
    SoftmaxCrossEntropyWithLogits"""
)
REUSING: Final = _OF_ONE | _OF_TWO | _OF_GRADIENTS | _kinds("AddN AccumulateNV2 SelectV2 Select")
"""The output takes the place of an input of its size that nobody else reads."""

SUMS: Final = _kinds("Add AddV2 AddN")
"""Sums of terms."""

FILLED: Final = _kinds("ZerosLike OnesLike Fill")
"""Constants as soon as the shape is known."""

SHAPES: Final = _kinds("Shape ShapeN Size Rank BroadcastGradientArgs")
"""Likewise."""

SPREAD: Final = (
    _OF_ONE
    | _OF_TWO
    | _kinds(
        """Identity Reshape ExpandDims Squeeze Cast Tile BroadcastTo Transpose Select SelectV2
    Greater Less GreaterEqual LessEqual Equal NotEqual AddN"""
    )
)
"""One value throughout if all that they read is."""

ADDED: Final = _kinds("Assign AssignAdd")
"""They read and write although they give back what they were given."""

ASSIGNS: Final = _kinds("AssignVariableOp")
UPDATES: Final = _kinds(
    """AssignAddVariableOp AssignSubVariableOp ResourceScatterAdd ResourceScatterSub
    ResourceScatterUpdate"""
)
READS: Final = _kinds("ReadVariableOp")
BRANCHES: Final = _kinds("If StatelessIf Case StatelessCase")
LOOPS: Final = _kinds("While StatelessWhile")
TURNS_AHEAD: Final = 32
"""Turns of a loop that may run at one time. Source: `parallel_iterations`, as Keras sets it for
recurrent layers."""

CHEAP: Final = (
    (VIEWS - ADDED) | FREE | READS | ASSIGNS | _kinds("Const Pack StridedSlice Range Fill")
)
"""TensorFlow runs them where they became ready instead of handing them to another thread."""

LIST_RESERVES: Final = _kinds("TensorListReserve EmptyTensorList")
LIST_TAKES: Final = _kinds("TensorListPushBack TensorListSetItem")
LIST_READS: Final = _kinds("TensorListGetItem")
LIST_FILLS: Final = _kinds("TensorListFromTensor")
LIST_ZEROS: Final = _kinds("ZerosLike OnesLike")
"""Where they are given a list: one of as many zeros."""

_STATEFUL: Final = _kinds("Placeholder VarHandleOp VariableShape NoOp Assert TemporaryVariable")
LISTS: Final = LIST_RESERVES | LIST_TAKES | LIST_READS | LIST_FILLS | _kinds("TensorListPopBack")
"""Lists of tensors, as loops keep one of each turn."""


def is_stateful(kind: str) -> bool:
    """True if an operation gives something else each time, or does more than give something."""
    return kind in READS | UPDATES | ASSIGNS | LISTS or kind in _STATEFUL or "Random" in kind
