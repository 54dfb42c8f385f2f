"""A target in whitened coordinates."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch._keywords import checked_keywords
from mongepatch.coordinates.information import estimate_information
from mongepatch.coordinates.outer import OuterMap
from mongepatch.coordinates.plan import WhiteningPlan
from mongepatch.coordinates.whitened import Information, WhitenedDensity
from mongepatch.errors import ModelError
from mongepatch.program import Program, trace_density
from mongepatch.targets import Target
from mongepatch.targets.inner import DataPrograms, inner_coordinates
from mongepatch.targets.reading import with_read_residuals


@dataclass(frozen=True)
class Whitening:
    """The whitened coordinates of a target."""

    initial: WhitenedDensity
    """The density in them before anything is known of the data: those of the non-centred form."""
    data: DataPrograms
    """The observed variables."""
    target: Target
    """The target in its own coordinates."""
    words: str
    """Which variables are whitened given which."""


@checked_keywords
def whiten(target: Target, positions: Any = None) -> Target:
    """A target in whitened coordinates, in which plain NUTS samples hierarchies that are written centred.

    Inner coordinates θ, in which the residuals of all latent variables are affine given the others, are replaced by
    z, θ = m(ψ) + F⁻ᵀz: P(ψ) = FFᵀ is their precision given the outer coordinates ψ, and m(ψ) their mean. Draws are
    exact whatever is known of the data. Without `positions` the coordinates are those of the non-centred form. `sample`
    whitens by itself, finds out about the data in warm-up, and returns results in the model's own variables, of a
    whitened target too. Its `init` is a point in the model's own coordinates.

    Example:
        >>> def logdensity(p):  # theta ~ N(0, exp(v)²), v ~ N(0, 3²)
        ...     return -0.5 * (jnp.exp(-2 * p["v"]) * p["theta"] @ p["theta"] + p["v"] ** 2 / 9) - 5 * p["v"]
        >>> target = mp.Target.from_density(logdensity, {"theta": jnp.zeros(5), "v": 0.0})
        >>> target = target.with_residuals(lambda p: (p["theta"] * jnp.exp(-p["v"]), p["v"] / 3))
        >>> whitened = mp.whiten(target)
        >>> print(whitened.describe())
        theta given v, whitened

    Args:
        target: a model, by `from_numpyro` or `from_pymc`, or any target with residuals; those of others are read off
            the density.
        positions: flat positions of the model, [number, dimension], such as draws of an earlier run: what data says
            about the inner coordinates is averaged over them.

    Returns:
        A target on flat vectors of the same length, with z in the places of θ, which any metric and kernel takes.

    Raises:
        ModelError: no coordinate is inner.
    """
    position = jax.ShapeDtypeStruct((target.dimension,), jnp.result_type(float))
    target = with_read_residuals(target, position)
    whitening = whitening_of(target, position)
    if whitening is None:
        raise ModelError(
            "Nothing can be whitened: the target has no residuals, or no variable is linear in them given the others. "
            "Sample it as it is."
        )
    density = whitening.initial
    if positions is not None:
        found = estimate_information(whitening.data, density.plan, np.asarray(positions))
        density = density if found is None else replace(density, information=found)
    named = target.layout.named if target.constrain is None else target.constrain
    return replace(
        target,
        logdensity=density,
        residuals=None,
        model=None,
        information=None,
        constrain=lambda y: named(density.to_model(y)),
        coordinates=whitening,
        description=whitening.words,
    )


def whitening_of(target: Target, position: jax.ShapeDtypeStruct, density: Program | None = None) -> Whitening | None:
    """The whitened coordinates of a target for positions of this shape and precision; None where nothing is inner."""
    if target.model is None:
        return None
    found = inner_coordinates(target.model, position)
    if found is None:
        return None
    plan, dtype = WhiteningPlan(found, target.dimension), position.dtype
    outer_map = OuterMap.identity(len(plan.outer), dtype)
    traced = trace_density(target.logdensity, position) if density is None else density
    data = found.data
    initial = WhitenedDensity(
        traced, found.latent, data.precisions, data.predictors, Information.none(plan, dtype), outer_map, plan
    )
    words = " ".join(filter(None, [f"{found.words(target.layout)}, whitened", target.model.source]))
    return Whitening(initial, data, target, words)
