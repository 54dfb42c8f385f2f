"""A traced program as expressions, one for each of its arrays, to which others can be added.

Inner functions are written out, and equal expressions are one and the same, so that `(y - m) * (y - m)` is seen to be a
square. Nothing is computed until values are asked for.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch.program.constants import in_numpy
from mongepatch.program.program import apply_operation

_CALLS = {"jit", "pjit", "closed_call", "core_call", "checkpoint", "remat", "remat2"}
"""Operations that do nothing but evaluate an inner program."""
_CUSTOM = {"custom_jvp_call", "custom_vjp_call"}
"""The same with derivatives of a user's own, which values of it keep."""
_ELEMENTWISE_NAMES = """
    add sub mul div neg square integer_pow pow exp exp2 log log1p expm1 sqrt rsqrt cbrt abs sign max min tanh sinh
    cosh asinh sin cos atan logistic erf erfc lgamma digamma select_n clamp convert_element_type stop_gradient ne
    eq lt le gt ge and or not is_finite
"""
ELEMENTWISE = frozenset(_ELEMENTWISE_NAMES.split())
"""Operations that treat all elements alike, each for itself."""
_LEADS_BY_ANY_NAMES = """
    add sub mul neg reduce_sum reshape broadcast_in_dim transpose concatenate stack slice gather dynamic_slice rev
    select_n convert_element_type log1p log sqrt square
"""
_LEADS_BY_ANY = frozenset(_LEADS_BY_ANY_NAMES.split())


class Expression:
    """An array of a program: an operation and what it is done to."""

    def __init__(
        self,
        number: int,
        name: str,
        inputs: tuple["Expression", ...],
        params: Mapping[str, Any],
        shape: tuple[int, ...],
        dtype: Any,
        compute: Callable[..., Any] | None,
    ) -> None:
        self.number, self.name, self.inputs, self.params = number, name, inputs, params
        self.shape, self.dtype, self.compute = shape, dtype, compute
        self.depends: bool = name == "input" or any(given.depends for given in inputs)
        """Whether it depends on the position."""
        self._holds = False
        self.inside: Expression | None = None
        """The same by the program of a function whose derivatives are a user's own."""
        self.sign = 0
        """1 or −1 where an input is known to be positive or negative."""
        self.value: Any = None
        """Of a constant."""

    @property
    def size(self) -> int:
        """The number of its elements."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def may_hold_squares(self) -> bool:
        """Whether squares can enter it linearly."""
        return self._holds


class Graph:
    """The expressions of a program, in an order in which they can be computed."""

    def __init__(self) -> None:
        self._known: dict[Any, Expression] = {}
        self._count = 0
        self._values: dict[Expression, np.ndarray] = {}
        self.compacted: dict[Expression, Expression] = {}
        """What `algebra.compact` has found."""
        self.signs: dict[Expression, int] = {}
        """What `signs.sign` has found."""

    def make(
        self,
        name: str,
        inputs: Sequence[Expression],
        shape: Sequence[int],
        compute: Callable[..., Any] | None,
        dtype: Any = None,
        /,
        **params: Any,
    ) -> Expression:
        """The expression of an operation; the one that exists where there is an equal one."""
        key = _key(name, params, inputs, tuple(shape))
        if key not in self._known:
            dtype = inputs[0].dtype if dtype is None else dtype
            self._count += 1
            made = Expression(self._count, name, tuple(inputs), params, tuple(shape), dtype, compute)
            made._holds = made.depends and _holds(made)
            self._known[key] = made
        return self._known[key]

    def input(self, shape: Sequence[int], dtype: Any, sign: int = 0) -> Expression:
        """An argument of the program."""
        made = self.make("input", (), shape, None, dtype, number=self._count)
        made.sign = sign
        return made

    def constant(self, value: Any) -> Expression:
        """A number or an array that does not depend on the position."""
        shape, dtype = np.shape(value), jnp.result_type(value)
        of_value = (np.asarray(value).item(), str(dtype)) if shape == () and not _is_traced(value) else id(value)
        made = self.make("constant", (), shape, None, dtype, of=of_value)
        made.value = value
        return made

    def numbers(self, expression: Expression) -> np.ndarray | None:
        """The values of an expression that does not depend on the position; None where they are not known."""
        if expression.depends:
            return None
        if expression not in self._values:
            with jax.ensure_compile_time_eval():
                (found,) = evaluate([expression], self._values)
            if _is_traced(found):
                return None
            self._values[expression] = np.asarray(found)
        return self._values[expression]

    def inline(self, jaxpr: Any, inputs: Sequence[Expression]) -> list[Expression]:
        """The results of a program whose constants and arguments are these."""
        found = dict(zip([*jaxpr.constvars, *jaxpr.invars], inputs, strict=True))

        def read(variable: Any) -> Expression:
            if hasattr(variable, "val"):
                return self.constant(np.asarray(variable.val, variable.aval.dtype))
            return found[variable]

        for equation in jaxpr.eqns:
            results = self._equation(equation, [read(variable) for variable in equation.invars])
            found.update(zip(equation.outvars, results, strict=True))
        return [read(variable) for variable in jaxpr.outvars]

    def _equation(self, equation: Any, inputs: list[Expression]) -> list[Expression]:
        name, avals = equation.primitive.name, [variable.aval for variable in equation.outvars]
        if name in _CALLS:
            return self.call(equation.params.get("jaxpr", equation.params.get("call_jaxpr")), inputs)
        if equation.primitive.multiple_results:
            params = equation.params | (_loop_counts(equation) if name == "scan" else {})
            whole = self.make(name, inputs, (), _computed(equation), float, **params)
            results = [self.item(whole, number, aval) for number, aval in enumerate(avals)]
            if name in _CUSTOM:
                inner = equation.params.get("call_jaxpr", equation.params.get("fun_jaxpr"))
                for result, inside in zip(results, self.call(inner, inputs), strict=True):
                    result.inside = inside
                    result._holds = inside._holds
            elif name == "scan":
                for result in results:
                    result._holds = result.depends
            return results
        (aval,) = avals
        return [self._simple(name, inputs, aval, equation)]

    def call(self, inner: Any, inputs: Sequence[Expression]) -> list[Expression]:
        """The results of an inner program, with arrays of its own or without."""
        constants = [self.constant(value) for value in getattr(inner, "consts", ())]
        return self.inline(getattr(inner, "jaxpr", inner), [*constants, *inputs])

    def item(self, whole: Expression, number: int, aval: Any) -> Expression:
        """One result of an operation with several."""
        return self.make("item", [whole], aval.shape, lambda values: values[number], aval.dtype, item=number)

    def _simple(self, name: str, inputs: list[Expression], aval: Any, equation: Any) -> Expression:
        """An operation of one result, by one name for those that do the same."""
        params, first = equation.params, inputs[0] if inputs else None
        if first is not None:
            if name in ("copy", "copy_p") or (name == "convert_element_type" and first.dtype == aval.dtype):
                return first
            if name in ("reshape", "squeeze", "expand_dims") or (
                name == "broadcast_in_dim" and first.size == aval.size
            ):
                return self.reshape(first, aval.shape)
            if name == "transpose" and tuple(params["permutation"]) == tuple(range(len(aval.shape))):
                return first
            if name == "integer_pow" and params["y"] in (1, 2):
                return first if params["y"] == 1 else self.square(first)
            if name == "mul" and inputs[1] is first:
                return self.square(first)
            if name == "pow" and inputs[1].shape == () and self.numbers(inputs[1]) == 2:
                return self.square(first)
            if name == "square":
                return self.square(first)
        return self.make(name, inputs, aval.shape, _computed(equation), aval.dtype, **params)

    def square(self, operand: Expression) -> Expression:
        """u²."""
        return self.make("square", [operand], operand.shape, jnp.square)

    def reshape(self, operand: Expression, shape: Sequence[int]) -> Expression:
        """The same elements in another shape."""
        shape = tuple(shape)
        while operand.name == "reshape":
            operand = operand.inputs[0]
        if operand.shape == shape:
            return operand
        return self.make("reshape", [operand], shape, lambda value: jnp.reshape(value, shape))


def evaluate(results: Sequence[Expression], inputs: Mapping[Expression, Any]) -> list[Any]:
    """The values of expressions, given those of the inputs, or of any others that they are made from."""
    values: dict[Expression, Any] = dict(inputs)
    for expression in reached(results, inputs):
        if expression.name == "constant":
            values[expression] = expression.value
        elif expression.compute is not None:
            given = [values[operand] for operand in expression.inputs]
            known = in_numpy(expression.name, given, expression.shape, expression.dtype)
            values[expression] = expression.compute(*given) if known is None else known
    return [values[result] for result in results]


def reached(results: Iterable[Expression], beyond: Iterable[Expression] = ()) -> list[Expression]:
    """All that expressions are made from, themselves included, in order; some are given, and not looked into."""
    seen, given, stack = set(), set(beyond), list(results)
    while stack:
        expression = stack.pop()
        if expression not in seen and expression not in given:
            seen.add(expression)
            stack.extend(expression.inputs)
    return sorted(seen, key=lambda expression: expression.number)


def _holds(made: Expression) -> bool:
    """Whether squares can enter an operation's result linearly, told before anything is looked for."""
    if made.name == "square":
        return True
    if made.name == "div":
        return made.inputs[0]._holds
    if made.name in ("dot_general", "mul") and all(given.depends for given in made.inputs):
        return True  # it may be a quadratic form
    return made.name in (*_LEADS_BY_ANY, "dot_general") and any(given._holds for given in made.inputs)


def _loop_counts(equation: Any) -> dict[str, int]:
    """How many inputs of a scan are the same in all turns, and how many it carries from one turn to the next.

    By their shapes, since versions of JAX write it in different ways: what differs from turn to turn has one axis more
    outside of the loop than inside.
    """
    body = getattr(equation.params["jaxpr"], "jaxpr", equation.params["jaxpr"])

    def count(outside: Any, inside: Any) -> int:
        return sum(one.aval.ndim == other.aval.ndim for one, other in zip(outside, inside, strict=True))

    carried = count(equation.outvars, body.outvars)
    return {"num_consts": count(equation.invars, body.invars) - carried, "num_carry": carried}


def _computed(equation: Any) -> Callable[..., Any]:
    def compute(*values: Any) -> Any:
        results = apply_operation(equation, values)
        return results if equation.primitive.multiple_results else results[0]

    return compute


def _key(name: str, params: Mapping[str, Any], inputs: Sequence[Expression], shape: tuple[int, ...]) -> Any:
    key = (name, tuple(params.items()), tuple(given.number for given in inputs), shape)
    try:
        hash(key)
    except TypeError:  # such as of functions that compare by their arrays: equal only to itself
        key = (name, tuple((label, id(value)) for label, value in params.items()), *key[2:])
    return key


def _is_traced(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)
