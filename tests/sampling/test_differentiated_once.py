"""What a call learns of a density by differentiating it, later calls with the same density do not find again."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from mongepatch import Euclidean
from mongepatch.metrics import fitted
from mongepatch.sampling.checks import check_differentiable
from mongepatch.warmup.curvature import twice_differentiable

POSITION = jax.ShapeDtypeStruct((3,), jnp.float64)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CountedDensity:
    """A normal density that counts how often JAX evaluates it, with data as a leaf, as a traced program has it."""

    mean: jax.Array
    calls = 0

    def __call__(self, x):
        CountedDensity.calls += 1
        return -0.5 * ((x - self.mean) ** 2).sum()


def calls_of(function):
    before = CountedDensity.calls
    function()
    return CountedDensity.calls - before


def test_the_check_of_derivatives_is_made_once_for_equal_densities():
    metric = fitted(Euclidean(), POSITION)
    counts = [
        calls_of(lambda mean=mean: check_differentiable(CountedDensity(jnp.full(3, mean)), metric, POSITION))
        for mean in (0.0, 1.0)
    ]
    assert counts == [1, 0]


def test_whether_a_density_has_two_derivatives_is_found_once():
    counts = [
        calls_of(lambda mean=mean: twice_differentiable(CountedDensity(jnp.full(3, mean)), np.zeros(3)))
        for mean in (0.0, 1.0)
    ]
    assert counts == [1, 0]
