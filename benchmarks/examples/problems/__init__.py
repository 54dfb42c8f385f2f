"""Models of NumPyro's examples, one file a family, in code and with synthetic data of our own."""

from benchmarks.patches.problems import NumpyroProblem
from mongepatch._extras import require


def example_problems() -> list[NumpyroProblem]:
    """All models with continuous parameters for which NumPyro's examples use MCMC, and three more."""
    require("numpyro", "numpyro", "The benchmark of examples")
    from benchmarks.examples.problems import (
        groups,
        mortality,
        networks,
        predators,
        processes,
        regressions,
        series,
        shrinkage,
        states,
        volatility,
    )

    families = (
        groups,
        regressions,
        shrinkage,
        series,
        volatility,
        processes,
        states,
        mortality,
        networks,
        predators,
    )
    return [problem for family in families for problem in family.problems()]
