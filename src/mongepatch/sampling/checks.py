"""Checks of what users give to `sample`, before anything is compiled or drawn."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np

from mongepatch._typing import AnyVector, LogDensity, Positions, Scalar, Vector
from mongepatch.errors import LogDensityError, MetricError, ParameterError, SettingError
from mongepatch.metrics import Metric, Patch, fitted
from mongepatch.metrics.patch.residuals import Residuals
from mongepatch.program import TracedFunction, jit
from mongepatch.targets import Target
from mongepatch.warmup import ToFind

_SAMPLE_DIMS = frozenset({"chain", "draw"})


def check_differentiable(density: LogDensity, metric: Metric, position: jax.ShapeDtypeStruct) -> None:
    """Raise unless JAX can differentiate the density as often as the metric needs."""
    try:
        jax.eval_shape(_point_at, metric, density, position)
    except Exception:
        gradient = jax.grad(density)
        _check_derivative("once", gradient, position)
        _check_derivative("twice, as the metric needs,", lambda x: jax.jvp(gradient, (x,), (x,))[1], position)
        raise  # the density is fine: the fault is the metric's own


@jax.jit  # never compiled: JAX remembers the shapes, so that another call with this density differentiates nothing
def _point_at(metric: Metric, density: LogDensity, position: Vector) -> Any:
    """The metric's geometry at a position, for which it differentiates the density."""
    return metric.at(density, position)[0]


def traced_residuals(residuals: Callable[[Vector], AnyVector], position: jax.ShapeDtypeStruct) -> Residuals:
    """A residual map, traced and planned; raise unless it is a vector that a patch can be made from."""
    check_smooth(residuals, position)
    return fitted(Patch(residuals, 1.0), position).residuals


def check_smooth(residuals: Callable[[Vector], AnyVector], position: jax.ShapeDtypeStruct) -> None:
    """Raise unless JAX can evaluate a residual map, and differentiate it as often as a patch needs."""
    TracedFunction("residuals", residuals).traced(position)  # which says what is wrong with it
    try:
        slope = jax.grad(lambda x: jax.jvp(residuals, (x,), (x,))[1].sum())
        jax.eval_shape(jax.vmap(slope), jax.ShapeDtypeStruct((1, *position.shape), position.dtype))
    except Exception as error:
        raise MetricError(
            f"residuals are not differentiable in JAX as often as a patch needs: {error} Loops of unknown length "
            "(jax.lax.while_loop) and callbacks have no derivative."
        ) from error


def check_residuals(residuals: Residuals, positions: Positions) -> None:
    """Raise unless residuals are finite where chains start."""
    finite = np.isfinite(_residuals_at(residuals, positions)).all(axis=0)
    if not finite.all():
        raise MetricError(
            "residuals are not finite at the starting points, though the log density is: "
            f"number {np.argmin(finite)} of {finite.size}, counted from 0."
        )


@partial(jit, quick=True)
def _residuals_at(residuals: Residuals, positions: jax.Array) -> jax.Array:
    """Residuals [chain, residual]; compiled once for what they compute, as samplers are."""
    return jax.vmap(residuals)(positions)


def _check_derivative(how_often: str, derivative: LogDensity, position: jax.ShapeDtypeStruct) -> None:
    try:
        jax.eval_shape(derivative, position)
    except Exception as error:
        raise LogDensityError(
            f"The log density is not differentiable in JAX {how_often}: {error} "
            "Loops of unknown length (jax.lax.while_loop) and callbacks have no derivative: use jax.lax.scan, or give "
            "them one with jax.custom_jvp."
        ) from error


def check_warmup(warmup: int, step_size: Scalar | None, to_find: ToFind) -> None:
    """Raise where there is something to find and no warm-up to find it in."""
    missing = [*(["step_size"] if step_size is None else []), *to_find.names]
    if missing and not warmup:
        raise SettingError(
            f"warmup=0 leaves no draws to find {', '.join(missing)} in: give them, such as step_size=0.1, "
            "metric=mp.Euclidean(), trajectory=mp.NUTS(), or leave warmup at its default."
        )


def check_names(target: Target) -> None:
    """Raise unless names, dims and coords make a tree: better now than after hours of sampling."""
    names, shapes = target.layout.names, target.variables
    data = {**target.observed_data, **target.constant_data}
    named = {**shapes, **{name: np.shape(value) for name, value in data.items()}}
    if len(set(names)) < len(names) or _SAMPLE_DIMS & set(named) or any("/" in name for name in named):
        raise ParameterError(
            "Parameter names must be distinct, not 'chain' or 'draw', and without '/'; they are "
            f"{list(names if target.constrain is None else named)}."
        )
    used = {f"{name}_dim_{i}" for name, shape in named.items() for i in range(len(shape))}
    used |= {dim for dims in target.dims.values() for dim in dims}
    for dim, labels in target.coords.items():
        if dim not in used:
            raise ParameterError(f"coords labels the dimension {dim!r}, which no parameter has: name it in dims.")
        if np.ndim(labels) != 1:
            raise ParameterError(f"coords of {dim!r} must be a list of labels; it is {labels!r}.")
    for name, dims in target.dims.items():
        if name not in named:
            raise ParameterError(f"dims names the parameter {name!r}, but the parameters are {list(shapes)}.")
        _check_dims(name, dims, named[name], target.coords)


def check_keep(keep: Sequence[str] | None, target: Target) -> frozenset[str] | None:
    """The names of the variables to keep; raise unless the result would have them."""
    if keep is None:
        return None
    there = list(target.variables)
    if isinstance(keep, str) or not isinstance(keep, Collection) or not keep:
        raise SettingError(f"keep must be a list of names, at least one of {there}; it is {keep!r}.")
    unknown = [name for name in keep if name not in there]
    if unknown:
        raise SettingError(f"keep names {unknown}, which the result does not have: its variables are {there}.")
    return frozenset(keep)


def _check_dims(name: str, dims: Sequence[str], shape: tuple[int, ...], coords: Mapping[str, Sequence[Any]]) -> None:
    if isinstance(dims, str) or len(dims) != len(shape):
        raise ParameterError(
            f"dims of {name!r} must be a list of {len(shape)} names, one for each axis of its shape {shape}; "
            f"it is {dims!r}."
        )
    if _SAMPLE_DIMS & set(dims) or len(set(dims)) < len(dims):
        raise ParameterError(f"dims of {name!r} must be distinct and not 'chain' or 'draw'; they are {list(dims)}.")
    for dim, size in zip(dims, shape, strict=True):
        if dim in coords and len(coords[dim]) != size:
            raise ParameterError(
                f"coords of {dim!r} has {len(coords[dim])} labels, but {name!r} has {size} entries along it."
            )
