"""Compiled functions that do not hang in LAPACK."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial, wraps
from operator import is_
from typing import Any

import jax
from jax.core import eval_jaxpr
from jaxlib import version

from mongepatch.program.quick import JitWithOptions, loop_options, quick_options

_COSTS = {
    "cholesky": 1 / 3,
    "lu": 1.0,
    "triangular_solve": 1.0,
    "geqrf": 2.0,
    "householder_product": 4.0,
    "ormqr": 4.0,
    "qr": 4.0,
    "eigh": 5.0,
    "eig": math.inf,
    "geqp3": math.inf,
    "hessenberg": math.inf,
    "schur": math.inf,
    "svd": math.inf,
    "tridiagonal": math.inf,
}
"""Operations that jaxlib does with LAPACK, and their cost for a matrix in units of rows · columns · rank, as in jaxlib.

Those of unknown cost are infinitely dear: they are done one matrix at a time.
"""

_DIVIDED = 200_000
"""The cost from which on jaxlib divides a batch among threads."""

_DIVIDES = (0, 10) <= tuple(map(int, re.findall(r"\d+", version.__version__)[:3])) < (0, 11, 1)
"""Whether this is one of the versions of jaxlib that divide batches at all."""

_WATCHER: ContextVar[Callable[[str], None] | None] = ContextVar("watcher", default=None)


@contextmanager
def watch_compilation(watcher: Callable[[str], None]) -> Iterator[None]:
    """Tell `watcher` the name of every function of `jit` that is about to be traced and compiled."""
    token = _WATCHER.set(watcher)
    try:
        yield
    finally:
        _WATCHER.reset(token)


def _tell_watcher(function: Callable[..., Any]) -> None:
    watcher = _WATCHER.get()
    if watcher is not None:
        watcher(function.__name__)


def jit(
    function: Callable[..., Any], *, static_argnames: Sequence[str] = (), quick: bool = False, loops: bool = False
) -> Any:
    """`jax.jit` for functions that may hand many matrices to LAPACK. Static arguments are keyword arguments.

    A function that is `quick` is compiled in less time, and may run somewhat longer: see `quick_options`. One that
    `loops` over small operations runs faster on a GPU: see `loop_options`.

    On CPUs XLA runs independent operations of a program at the same time, on one pool of threads. In jaxlib 0.10.0 to
    0.11.0 an operation that calls LAPACK divides a large batch among the threads of the same pool, and its own thread
    waits for them. Once every thread waits, none is left to do the work, and the program hangs (two cores, 4,000
    matrices of 6 × 6: every time). Neither synchronous dispatch nor an option of the compiler prevents it. So LAPACK
    gets smaller batches here, in a loop, which are not divided: no thread waits. Results are the same.

    Programs whose batches are small, or without LAPACK, and all those on other devices are compiled as they are. In a
    dense metric with 1,000 chains a step takes 5% longer in 6 dimensions, and 20% longer in 20.
    """
    options = quick_options if quick else loop_options if loops else None
    made: Any = jax.jit if options is None else partial(JitWithOptions, options=options)
    if not _DIVIDES:

        @wraps(function)
        def told(*arguments: Any, **named: Any) -> Any:
            _tell_watcher(function)
            return function(*arguments, **named)

        return made(told, static_argnames=tuple(static_argnames))

    @wraps(function)
    def with_small_batches(*arguments: Any, **named: Any) -> Any:
        _tell_watcher(function)
        static = {name: named.pop(name) for name in static_argnames if name in named}
        call = partial(function, **static)
        closed, shapes = jax.make_jaxpr(lambda a, n: call(*a, **n), return_shape=True)(arguments, named)
        jaxpr = _SmallBatches().in_program(closed.jaxpr)
        values = eval_jaxpr(jaxpr, closed.consts, *jax.tree.leaves((arguments, named)))
        return jax.tree.unflatten(jax.tree.structure(shapes), values)

    return made(with_small_batches, static_argnames=tuple(static_argnames))


class _SmallBatches:
    """Rewrites programs, each once: one that is used twice is compiled once, as before."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Any]] = {}

    def in_program(self, program: Any) -> Any:
        """A `Jaxpr` or `ClosedJaxpr` that computes the same in batches that are not divided; itself if it does so."""
        if id(program) not in self._known:
            self._known[id(program)] = program, self._rewritten(program)  # kept, so that no other has its id
        return self._known[id(program)][1]

    def _rewritten(self, program: Any) -> Any:
        closed, _ = _kinds()
        if isinstance(program, closed):
            inner = self.in_program(program.jaxpr)
            return program if inner is program.jaxpr else program.replace(jaxpr=inner)
        equations = [self._in_equation(equation) for equation in program.eqns]
        return program if all(map(is_, equations, program.eqns)) else program.replace(eqns=equations)

    def _in_equation(self, equation: Any) -> Any:
        if (size := _batch_size(equation)) is not None:
            return _in_batches(equation, size)
        leaves, structure = jax.tree.flatten(equation.params, is_leaf=_is_program)
        new = [self.in_program(leaf) if _is_program(leaf) else leaf for leaf in leaves]
        if all(map(is_, new, leaves)):
            return equation
        return equation.replace(params=jax.tree.unflatten(structure, new))


def _is_program(value: Any) -> bool:
    return isinstance(value, _kinds())


@cache
def _kinds() -> tuple[Any, Any]:
    """`ClosedJaxpr` and `Jaxpr`; to import them takes as long as a tenth of JAX."""
    from jax.extend.core import ClosedJaxpr, Jaxpr

    return ClosedJaxpr, Jaxpr


def _batch_size(equation: Any) -> int | None:
    """How many matrices LAPACK may have at once, where jaxlib would divide those that it has."""
    cost = _COSTS.get(equation.primitive.name)
    if cost is None:
        return None
    *batch, rows, columns = equation.invars[0].aval.shape
    cost *= max(1, math.prod(equation.outvars[0].aval.shape[len(batch) :]) * min(rows, columns))
    if "complex" in str(equation.invars[0].aval.dtype):
        cost *= 3
    count = math.prod(batch)
    if count < 2 or count * cost < _DIVIDED:
        return None
    size = max(1, math.ceil(_DIVIDED / cost) - 1)
    divisors = (smaller for smaller in range(size, size // 2, -1) if count % smaller == 0)
    return next(divisors, size)  # a divisor leaves no rest, which would be compiled on its own


def _in_batches(equation: Any, size: int) -> Any:
    """An equation that does the same in batches, on CPUs."""
    primitive, params = equation.primitive, equation.params
    batch = equation.invars[0].aval.shape[:-2]

    def at_once(*operands: jax.Array) -> list[jax.Array]:
        made = primitive.bind(*operands, **params)
        return list(made) if primitive.multiple_results else [made]

    def in_batches(*operands: jax.Array) -> list[jax.Array]:
        flat = [operand.reshape(-1, *operand.shape[len(batch) :]) for operand in operands]
        made = jax.lax.map(lambda matrices: at_once(*matrices), flat, batch_size=size)
        return [value.reshape(*batch, *value.shape[1:]) for value in made]

    def on_each_device(*operands: jax.Array) -> list[jax.Array]:
        return jax.lax.platform_dependent(*operands, cpu=in_batches, default=at_once)

    shapes = [jax.ShapeDtypeStruct(variable.aval.shape, variable.aval.dtype) for variable in equation.invars]
    (call,) = jax.make_jaxpr(jax.jit(on_each_device))(*shapes).jaxpr.eqns
    return equation.replace(primitive=call.primitive, params=call.params, effects=call.effects)
