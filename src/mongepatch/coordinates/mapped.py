"""A log density in coordinates u that are made normal one by one, for models of which nothing can be whitened.

All coordinates are outer ones then: log density of u = ℓ(ψ(u)) + Σ log|dψ/du|, with the maps of `outer`. Every draw is
exact whatever the maps are.
"""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp

from mongepatch._typing import Scalar, Vector
from mongepatch.coordinates.outer import OuterMap
from mongepatch.program import Program
from mongepatch.targets import Target

_MOST_COORDINATES = 1000
"""Coordinates beyond which fitting maps would take longer than they are likely to save."""


def may_be_mapped(target: Target) -> bool:
    """Whether coordinates may be made normal: those of a model, in which bounded variables are logarithms and the like.

    Who writes a log density chooses its coordinates, and may rely on them.
    """
    return target.constrain is not None and target.dimension <= _MOST_COORDINATES


@partial(jax.tree_util.register_dataclass, data_fields=["density", "outer_map"], meta_fields=[])
@dataclass(frozen=True)
class MappedDensity:
    """A log density of flat vectors u. A pytree: to change the maps does not compile again."""

    density: Program
    """ℓ(ψ) in the model's own coordinates."""
    outer_map: OuterMap

    def __call__(self, position: Vector) -> Scalar:
        """ℓ at the model's position plus the log determinant of the maps."""
        psi, log_det = self.to_model_with_log_det(position)
        value: Scalar = self.density(psi) + log_det
        return value

    def to_model(self, position: Vector) -> Vector:
        """The model's own coordinates of a position."""
        return self.to_model_with_log_det(position)[0]

    def to_model_with_log_det(self, position: Vector) -> tuple[Vector, Scalar]:
        """The same, and the log determinant of the maps, by which the log densities differ."""
        is_mapped = self.outer_map.is_mapped

        def by_maps(position: Vector) -> tuple[Vector, Scalar]:
            psi, log_slopes = self.outer_map.forward_each(position)
            return jnp.where(is_mapped, psi, position), jnp.where(is_mapped, log_slopes, 0.0).sum()

        def as_it_is(position: Vector) -> tuple[Vector, Scalar]:
            return position, jnp.zeros((), position.dtype)

        # Most models need no map, and to compute one is a quarter of the gradient of small ones.
        found: tuple[Vector, Scalar] = jax.lax.cond(is_mapped.any(), by_maps, as_it_is, position)
        return found

    def from_model(self, position: Vector) -> Vector:
        """The position of one in the model's own coordinates."""
        return jnp.where(self.outer_map.is_mapped, self.outer_map.inverse(position), position)
