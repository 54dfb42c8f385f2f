"""Probabilities that a model makes of log-odds: the log-odds are better known, as they never saturate."""

from typing import Any

from pytensor.scalar import Sigmoid
from pytensor.tensor.elemwise import DimShuffle, Elemwise
from pytensor.tensor.special import Softmax


def logits_of(probability: Any) -> Any:
    """What a probability is the sigmoid of, or None."""
    return _before(probability, lambda op: isinstance(op, Elemwise) and isinstance(op.scalar_op, Sigmoid))


def log_weights_of(probabilities: Any) -> Any:
    """What probabilities are the softmax of along their last axis, or None."""
    last = probabilities.type.ndim - 1
    found = _before(probabilities, lambda op: isinstance(op, Softmax) and op.axis in (-1, None, last))
    return None if found is None or found.type.ndim != probabilities.type.ndim else found


def _before(graph: Any, is_link: Any) -> Any:
    node = graph.owner
    if node is None:
        return None
    if is_link(node.op):
        return node.inputs[0]
    if isinstance(node.op, DimShuffle) and tuple(node.op.shuffle) == tuple(range(len(node.op.shuffle))):
        inner = _before(node.inputs[0], is_link)  # axes of length 1 in front, which PyTensor gives to parameters
        return None if inner is None else node.op(inner)
    return None
