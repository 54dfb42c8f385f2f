"""What is sampled on a device, in the precision of the moment."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import jax
import numpy as np

from benchmarks.patches.problems import hard_problems
from mongepatch import datasets, from_numpyro, targets
from mongepatch.targets import Target
from mongepatch.targets.truth import Marginal, Normal

FUNNEL_VARIANCE = 15.0


class DeviceProblem(NamedTuple):
    """A target, built in the precision of the moment, and the variable that is measured."""

    name: str
    build: Callable[[], Target]
    variable: str
    is_log_scale: bool = False
    exact: Marginal | None = None
    """The distribution of what is measured, where it is known."""

    def values(self, draws: np.ndarray) -> np.ndarray:
        """What is measured, [chain, draw]: the variable's first entry, or the logarithm of a scale."""
        first = np.asarray(draws, float).reshape(*draws.shape[:2], -1)[..., 0]
        return np.log(first) if self.is_log_scale else first


def device_problems() -> list[DeviceProblem]:
    """A regression, the funnel of the paper, and two hierarchies in their centred form."""
    models = {problem.name: problem for problem in hard_problems()}

    def of_model(name: str) -> Target:
        return from_numpyro(models[name].centred, *models[name].data)

    funnel_truth = Normal(0.0, FUNNEL_VARIANCE**0.5)
    schools_truth = models["schools"].exact["log tau"]
    return [
        DeviceProblem("heart", lambda: datasets.load("heart").target(), "beta"),
        DeviceProblem("funnel-10", lambda: targets.funnel(10, variance=FUNNEL_VARIANCE), "a", exact=funnel_truth),
        DeviceProblem("schools", partial(of_model, "schools"), "tau", True, schools_truth),
        DeviceProblem("groups-100", partial(of_model, "groups-100"), "tau", True),
    ]


@contextmanager
def precision(double: bool) -> Iterator[None]:
    """A block in double or in single precision."""
    before = jax.config.read("jax_enable_x64")
    jax.config.update("jax_enable_x64", double)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", before)
