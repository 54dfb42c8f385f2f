"""A check of metrics that users write: each answer has the shape that samplers count on."""

from contextlib import suppress
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._linalg import dot
from mongepatch._typing import Scalar, Vector
from mongepatch.errors import MetricError
from mongepatch.metrics.base import Cost, DriftingMetric, Metric
from mongepatch.program import UNTRACEABLE, WRITE_IT_WITH_JAX

_OF_THE_LIBRARY = "mongepatch."


def check_answers(metric: Metric, position: Vector | jax.ShapeDtypeStruct) -> None:
    """Raise `MetricError` unless a metric of a user's own answers in the right shapes, in any density.

    Nothing is computed. The library's own metrics are not looked at.
    """
    if type(metric).__module__.startswith(_OF_THE_LIBRARY):
        return
    answers = _Answers(metric, position.size)
    answers.check_numbers()
    try:
        jax.eval_shape(answers.check, jax.ShapeDtypeStruct(position.shape, position.dtype))
    except UNTRACEABLE as error:
        raise MetricError(
            f"{answers.name}.{answers.member} cannot be traced by JAX: it turns positions or velocities into NumPy "
            f"arrays or Python numbers, or branches on them. {WRITE_IT_WITH_JAX}"
        ) from error


class _Answers:
    """The questions to a metric, one after the other; `member` is the one that is asked."""

    def __init__(self, metric: Any, dimension: int) -> None:
        self.metric, self.dimension = metric, dimension
        self.name, self.member = type(metric).__name__, ""

    def check_numbers(self) -> None:
        """What it says of itself."""
        self.member = "alpha"
        self.expect("a number", np.shape(self.metric.alpha) == (), self.metric.alpha)
        self.member = "cost"
        cost = self.metric.cost(self.dimension)
        self.expect("a mongepatch.metrics.Cost, such as Cost(point=1)", isinstance(cost, Cost), cost)

    def check(self, x: Vector) -> None:
        """What it says at a position; anything flat will do for a velocity."""
        point, slope = self.ask("at", "a point and its slope", 2, _normal, x)
        for name, shape in (("position", x.shape), ("logdensity", ()), ("gradient", x.shape)):
            if not hasattr(point, name):
                raise MetricError(
                    f"{self.name}.at must give a point and its slope; its point, {_words(point)}, has no {name!r}. "
                    "A point is a NamedTuple of position, logdensity, gradient and what else the metric needs there."
                )
            self.member = f"at(…)[0].{name}"
            self.expect_shape(getattr(point, name), shape)
        self.member = "at(…)[0]"
        self.expect("a pytree of arrays", _is_of_arrays(point), point)
        self.expect_shape(self.ask("log_det", "", 0, point), ())
        for member in ("momentum", "velocity", "velocity_from_noise"):
            self.expect_shape(self.ask(member, "", 0, point, x), x.shape)
        bend = self.ask("bend", "", 0, point, slope, x)
        self.expect("a pytree of arrays", _is_of_arrays(bend), bend)
        kicked, new_bend, volume = self.ask(
            "kick", "a velocity, its bend and a log-volume", 3, point, slope, x, bend, jnp.ones((), x.dtype)
        )
        self.member = "kick(…)[0]"
        self.expect_shape(kicked, x.shape)
        self.member = "kick(…)[1]"
        self.expect("a bend, a pytree of the same shapes as bend(…)", _shapes(new_bend) == _shapes(bend), new_bend)
        self.member = "kick(…)[2]"
        self.expect_shape(volume, ())
        with suppress(NotImplementedError):  # RMHMC alone needs it
            self.expect_shape(self.ask("force", "", 0, point, slope, x), x.shape)
        if isinstance(self.metric, DriftingMetric):
            drifted = self.ask("drift", "a position and a velocity", 2, point, x, jnp.ones((), x.dtype))
            for array in drifted:
                self.expect_shape(array, x.shape)

    def ask(self, member: str, what: str, count: int, *arguments: Any) -> Any:
        """The answer to one question; of several things, a tuple of so many."""
        self.member = member
        answer = getattr(self.metric, member)(*arguments)
        if count:
            self.expect(what, isinstance(answer, tuple | list) and len(answer) == count, answer)
        return answer

    def expect_shape(self, answer: Any, shape: tuple[int, ...]) -> None:
        """Raise unless the answer is an array of this shape."""
        what = f"an array of shape {shape}" if shape else "one number"
        self.expect(what, _is_array(answer) and jnp.shape(answer) == shape, answer)

    def expect(self, what: str, holds: Any, answer: Any) -> None:
        """Raise unless the answer to the last question is what it must be."""
        if not holds:
            raise MetricError(
                f"{self.name}.{self.member} must give {what}; it gives {_words(answer)}. "
                "mongepatch.metrics.Metric says what each member of a metric returns."
            )


def _normal(x: Vector) -> Scalar:
    return -0.5 * dot(x, x)


def _is_array(value: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray | np.generic | float | int)


def _is_of_arrays(tree: Any) -> bool:
    return all(map(_is_array, jax.tree.leaves(tree)))


def _shapes(tree: Any) -> Any:
    leaves, structure = jax.tree.flatten(tree)
    return structure, [jnp.shape(leaf) if _is_array(leaf) else None for leaf in leaves]


def _words(answer: Any) -> str:
    """An answer for an error: its shape or its type."""
    if isinstance(answer, jax.Array | np.ndarray):
        return f"an array of shape {answer.shape}"
    if type(answer) in (tuple, list):
        return f"a {type(answer).__name__} of {len(answer)}"
    return f"an object of type {type(answer).__name__}"
