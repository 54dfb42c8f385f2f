"""Residuals that are read off a log density's own program, as those of a model."""

from collections.abc import Sequence
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._keywords import checked_keywords
from mongepatch._typing import AnyVector, LogDensity, PyTree, Vector
from mongepatch.errors import ParameterError
from mongepatch.program import Program, Reading, ResidualBlock, read_squares, trace, trace_density
from mongepatch.sparse.detection import interaction_pattern, jacobian_pattern
from mongepatch.targets.base import Target
from mongepatch.targets.inner import inner_coordinates, listed
from mongepatch.targets.layout import Layout
from mongepatch.targets.residuals import DataSite, ModelResiduals

SOURCE = "by residuals read off the density"
"""What `sample` says of them."""


class FoundResiduals:
    """Residuals that were read off a log density: `print` shows them, and `sample` takes them as `residuals=`."""

    def __init__(self, reading: Reading, layout: Layout) -> None:
        self._reading, self._layout = reading, layout

    def __len__(self) -> int:
        return len(self._reading.blocks)

    def __call__(self, parameters: PyTree) -> list[jax.Array]:
        """The blocks of residuals, each in its own shape, at a point of the parameters."""
        position = self._layout.flat(parameters)
        return [block.residuals(position).reshape(block.shape) for block in self._reading.blocks]

    def __str__(self) -> str:
        if not len(self):
            return (
                "No residuals were found: no square enters the log density linearly with a coefficient that is known "
                "to be negative. Give them by residuals=, a function of the parameters."
            )
        rows = [
            (block.words(self._label), _shape(block), listed(self._names(block)))
            for block in reversed(self._reading.blocks)
        ]
        widths = [max(len(row[column]) for row in rows) for column in range(2)]
        lines = [f"{words:{widths[0]}}  {shape:{widths[1]}}  of {names}" for words, shape, names in rows]
        total = sum(int(np.prod(block.shape, dtype=int)) for block in self._reading.blocks)
        return "\n".join([*lines, f"{total} residual{'s' * (total != 1)} in total, read off the log density."])

    __repr__ = __str__

    def _names(self, block: ResidualBlock) -> list[str]:
        numbers = self._layout.named(np.arange(self._layout.size))
        own = np.concatenate([np.arange(*part) for part in block.places])
        return [name for name, places in numbers.items() if np.isin(places, own).any()]

    def _label(self, start: int, stop: int) -> str:
        """The name of a part of the flat position."""
        for name, places in self._layout.named(np.arange(self._layout.size)).items():
            own = np.ravel(places)
            if len(own) and own[0] <= start and stop <= own[-1] + 1:
                first, last = start - own[0], stop - own[0]
                if (first, last) == (0, len(own)):
                    return name
                return f"{name}[{first}]" if last == first + 1 else f"{name}[{first}:{last}]"
        return "x"


@checked_keywords
def residuals_of(logdensity: Target | LogDensity, init: PyTree = None) -> FoundResiduals:
    """What residuals `sample` reads off a log density, for a person to check.

    They are the terms −½ w u² of the log density: whitened residuals √w·u. Terms that are not understood, or whose
    sign is not known everywhere, are left out. Draws are exact whatever is found.

    Example:
        >>> def logdensity(p):  # theta ~ N(0, exp(v)), v ~ N(0, 3²)
        ...     return -0.5 * (p["theta"] ** 2 / jnp.exp(p["v"]) + p["v"] + p["v"] ** 2 / 9)
        >>> print(mp.residuals_of(logdensity, {"theta": 0.0, "v": 0.0}))
        theta/exp(0.5·v)  one number  of theta and v
        0.3333·v          one number  of v
        2 residuals in total, read off the log density.

    Args:
        logdensity: a log density of any pytree of parameters, or a `Target`.
        init: one point of the parameters, which says their names and shapes; a `Target` needs none.

    Returns:
        An object whose text lists the residuals: each block's expression, shape and parameters. It is a function of
        the parameters, for `residuals=` of `sample`.
    """
    if not isinstance(logdensity, Target):
        if init is None:
            raise ParameterError(
                "Give init, one point of the log density's parameters: it says their names and shapes."
            )
        logdensity = Target.from_density(logdensity, init)
    position = jax.ShapeDtypeStruct((logdensity.dimension,), jnp.result_type(float))
    return FoundResiduals(read_squares(trace_density(logdensity.logdensity, position)), logdensity.layout)


def with_read_residuals(
    target: Target, position: jax.ShapeDtypeStruct, density: Program | None = None, *, partial: bool = False
) -> Target:
    """The target with residuals that are read off its density; itself where it has some, or none are found.

    Args:
        target: the target.
        position: shape and precision of flat positions.
        density: its traced density.
        partial: whether residuals are wanted that leave nonlinear terms of the density out and allow no whitening.
    """
    if target.residuals is not None or target.model is not None:
        return target
    reading = read_squares(trace_density(target.logdensity, position) if density is None else density)
    if not reading.blocks:
        return target
    model, has_inner = _model(reading, position)

    def residuals(x: Vector) -> AnyVector:
        return _all(reading.blocks, x)

    if not (has_inner or partial or _is_affine(trace(reading.rest, position)[0], position.size)):
        return target
    words = str(FoundResiduals(reading, target.layout))
    description = "\n".join([target.description, words]) if target.description else words
    return replace(target, residuals=residuals, model=model, description=description)


def _all(blocks: Sequence[ResidualBlock], x: Vector) -> AnyVector:
    return jnp.concatenate([jnp.zeros(0, x.dtype), *(block.residuals(x) for block in blocks)])


def _is_affine(program: Program, dimension: int) -> bool:
    return not len(interaction_pattern(program, dimension))


class _Candidate:
    """A block, and which coordinates it and its scale depend on, and how."""

    def __init__(self, block: ResidualBlock, position: jax.ShapeDtypeStruct) -> None:
        self.block = block
        unscaled, _ = trace(block.unscaled, position)
        pattern, interactions = (
            jacobian_pattern(unscaled, position.size),
            interaction_pattern(unscaled, position.size),
        )
        self.columns = np.unique(pattern.columns)
        curved = interactions.rows[interactions.rows == interactions.columns]
        self.affine = np.setdiff1d(self.columns, curved)
        """Coordinates that it is affine in, given all others."""
        self.is_linear = not len(interactions)
        self.count = int(np.prod(block.shape, dtype=int))

    def site(self, x: Vector) -> DataSite:
        """The block as an observed variable."""
        return DataSite(self.block.residuals(x), self.block.log_density(x), self.block.precision(x))


def _model(reading: Reading, position: jax.ShapeDtypeStruct) -> tuple[ModelResiduals, bool]:
    """The blocks as those of latent variables and of data, and whether anything can be whitened by them.

    A block of more rows than coordinates that is linear but for its scale has constant information, which need not be
    computed at every step: it counts as data, if other blocks know its coordinates. So does a nonlinear block by which
    no coordinate would become inner that is not so by others. All others are latent.
    """
    candidates = [_Candidate(block, position) for block in reading.blocks]
    linear = [one for one in candidates if one.is_linear]
    inner = _inner(linear, [], position)
    latent = [one for one in candidates if one.is_linear or len(np.setdiff1d(one.affine, inner))]
    data = [one for one in candidates if one not in latent]
    for one in sorted(linear, key=lambda one: -one.count):
        others = np.concatenate([np.zeros(0, int), *(other.columns for other in latent if other is not one)])
        if one.block.has_scale and one.count > len(one.columns) and np.isin(one.columns, others).all():
            latent.remove(one)
            data.append(one)
    # What is left may know inner coordinates by linear predictors, and so be the reason that they are inner.
    inner = _inner(latent, data, position, reading.rest)
    data = [one for one in data if np.isin(one.columns, inner).any()]
    rest, _ = trace(lambda x: reading.rest(x)[None], position)
    rest_matters = np.isin(jacobian_pattern(rest, position.size).columns, inner).any()
    return _as_model(latent, data, reading.rest if rest_matters else None), bool(len(inner))


def _as_model(latent: list[_Candidate], data: list[_Candidate], rest: LogDensity | None) -> ModelResiduals:
    """The residuals of blocks, with what they leave of the log density as one more observed variable."""

    def sites(x: Vector) -> tuple[DataSite, ...]:
        known = tuple(one.site(x) for one in data)
        if rest is None:
            return known
        return (*known, DataSite(jnp.zeros(0, x.dtype), rest(x), jnp.ones((), x.dtype)))

    blocks = [one.block for one in latent]
    return ModelResiduals(lambda x: _all(blocks, x), sites, source=SOURCE)


def _inner(
    latent: list[_Candidate], data: list[_Candidate], position: jax.ShapeDtypeStruct, rest: LogDensity | None = None
) -> np.ndarray:
    """The coordinates that would be inner with these residuals."""
    found = inner_coordinates(_as_model(latent, data, rest), position)
    return np.zeros(0, int) if found is None else found.inner


def _shape(block: ResidualBlock) -> str:
    return f"shape {block.shape}" if block.shape else "one number"
