"""Kinds of TensorFlow's operations by their use of memory; the only such list."""

from typing import Final


def _kinds(names: str) -> frozenset[str]:
    return frozenset(names.split())


VIEWS: Final = _kinds(
    """Identity IdentityN Reshape ExpandDims Squeeze StopGradient PreventGradient CheckNumerics
    Bitcast EnsureShape PlaceholderWithDefault Snapshot Assign AssignAdd
    DestroyTemporaryVariable FirstAxisView"""
)
"""Operations whose output is the input under another name or shape, or a part of its memory."""

SAME_IF_AS_LARGE: Final = _kinds(
    """Sum Mean Max Min Prod Tile BroadcastTo Pad PadV2 MirrorPad Slice StridedSlice"""
)
"""Operations whose output is the input itself if both have the same size."""

FREE: Final = _kinds(
    """Shape ShapeN Size Rank NoOp VarHandleOp VariableShape Assert BroadcastGradientArgs
    TensorListLength TensorListElementShape"""
)
"""Operations with negligible memory."""

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
"""Operations whose output reuses an input of the same size that has no other reader."""

SUMS: Final = _kinds("Add AddV2 AddN")

PRODUCTS: Final = _kinds("MatMul _FusedMatMul BatchMatMulV2")
"""Products of matrices."""

FILLED: Final = _kinds("ZerosLike OnesLike Fill")
"""Operations that are constant as soon as the shape is known."""

SHAPES: Final = _kinds("Shape ShapeN Size Rank BroadcastGradientArgs")
"""Operations on shapes that are constant as soon as the shape is known."""

SPREAD: Final = (
    _OF_ONE
    | _OF_TWO
    | _kinds(
        """Identity Reshape ExpandDims Squeeze Cast Tile BroadcastTo Transpose Select SelectV2
    Greater Less GreaterEqual LessEqual Equal NotEqual AddN"""
    )
)
"""Operations whose values are all equal if those of all inputs are."""

ADDED: Final = _kinds("Assign AssignAdd")
"""Views that read and write, although they return their input."""

ASSIGNS: Final = _kinds("AssignVariableOp")
UPDATES: Final = _kinds(
    """AssignAddVariableOp AssignSubVariableOp ResourceScatterAdd ResourceScatterSub
    ResourceScatterUpdate"""
)
READS: Final = _kinds("ReadVariableOp")
BRANCHES: Final = _kinds("If StatelessIf Case StatelessCase")
LOOPS: Final = _kinds("While StatelessWhile")
TURNS_AHEAD: Final = 32
"""Most turns of a loop that run at the same time. Source: `parallel_iterations`, as set by Keras
for recurrent layers."""

CHEAP: Final = (
    (VIEWS - ADDED) | FREE | READS | ASSIGNS | _kinds("Const Pack StridedSlice Range Fill")
)
"""Operations that TensorFlow runs on the thread on which they become ready."""

LIST_RESERVES: Final = _kinds("TensorListReserve EmptyTensorList")
LIST_TAKES: Final = _kinds("TensorListPushBack TensorListSetItem")
LIST_READS: Final = _kinds("TensorListGetItem")
LIST_FILLS: Final = _kinds("TensorListFromTensor")
LIST_ZEROS: Final = _kinds("ZerosLike OnesLike")
"""Operations that turn a list into one of as many zeros."""

_STATEFUL: Final = _kinds("Placeholder VarHandleOp VariableShape NoOp Assert TemporaryVariable")
LISTS: Final = LIST_RESERVES | LIST_TAKES | LIST_READS | LIST_FILLS | _kinds("TensorListPopBack")
"""Operations on lists of tensors, in which loops keep one element per turn."""


def is_stateful(kind: str) -> bool:
    """True if an operation has varying results or side effects."""
    return kind in READS | UPDATES | ASSIGNS | LISTS or kind in _STATEFUL or "Random" in kind
