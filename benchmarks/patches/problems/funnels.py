"""Funnels, whose truth is exact: Neal's, of scale e^(v/2), and the paper's, of scale √softplus(a)."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

from benchmarks.patches.problems.base import ModelFunction, NumpyroProblem
from mongepatch.targets.truth import Marginal, Normal, Tabulated

NEAL, PAPER = (9, 99), (1, 3, 5, 10, 30, 50)
"""Numbers of x's."""


def centred(dimension: int, *, neck: str, sd: float, variance_of: Callable[[Any], Any]) -> None:
    """The funnel, centred."""
    log_scale = numpyro.sample(neck, dist.Normal(0, sd))
    with numpyro.plate("i", dimension):
        numpyro.sample("x", dist.Normal(0, jnp.sqrt(variance_of(log_scale))))


def non_centred(dimension: int, *, neck: str, sd: float, variance_of: Callable[[Any], Any]) -> None:
    """Independent normals, and the funnel computed from them."""
    log_scale = numpyro.sample(neck, dist.Normal(0, sd))
    with numpyro.plate("i", dimension):
        z = numpyro.sample("z", dist.Normal(0, 1))
        numpyro.deterministic("x", jnp.sqrt(variance_of(log_scale)) * z)


class Mixture:
    """The distribution of one x: normals of all scales, each with the weight that the neck gives it."""

    def __init__(self, sd: float, variance_of: Callable[[Any], Any]) -> None:
        neck = np.linspace(-8.0, 8.0, 4001) * sd
        self._neck = Tabulated.from_log_density(neck, -0.5 * (neck / sd) ** 2)
        self._scales = np.sqrt(np.asarray(variance_of(neck), float))
        self.mean, self.sd = 0.0, float(np.sqrt(self._neck.weights @ self._scales**2))

    def cdf(self, value: Any) -> np.ndarray:
        """Probability of at most `value`."""
        standard = Normal(0.0, 1.0)
        return np.asarray([self._neck.weights @ standard.cdf(x / self._scales) for x in np.atleast_1d(value)])

    def quantile(self, probability: Any) -> np.ndarray:
        """The inverse of `cdf`, by bisection."""
        wanted = np.atleast_1d(probability)
        low, high = (np.full(wanted.shape, end) for end in (-1e6, 1e6))
        for _ in range(80):
            middle = 0.5 * (low + high)
            below = self.cdf(middle) < wanted
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return low


def problems() -> list[NumpyroProblem]:
    """Neal's with v ~ N(0, 3²), and the paper's with a ~ N(0, 15)."""
    neal = [_problem(f"neal-{d}", d, "v", 3.0, jnp.exp) for d in NEAL]
    return neal + [_problem(f"softplus-{d}", d, "a", 15.0**0.5, jax.nn.softplus) for d in PAPER]


def _problem(name: str, dimension: int, neck: str, sd: float, variance_of: Callable[[Any], Any]) -> NumpyroProblem:
    def form(model: ModelFunction) -> ModelFunction:
        return partial(model, neck=neck, sd=sd, variance_of=variance_of)

    exact: dict[str, Marginal] = {neck: Normal(0.0, sd), "x": Mixture(sd, variance_of)}
    forms = {"non-centred": form(non_centred)}
    return NumpyroProblem(name, form(centred), (dimension,), logs=(neck,), others=("x",), forms=forms, exact=exact)
