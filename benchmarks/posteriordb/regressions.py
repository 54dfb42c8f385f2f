"""Linear regressions with normal errors."""

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.posteriordb.densities import cauchy, floats, normal, student_t
from benchmarks.posteriordb.model import ConstrainedModel
from benchmarks.posteriordb.transforms import Values, positive, real
from mongepatch._typing import Scalar


def logearn_interaction(data: Mapping[str, Any]) -> ConstrainedModel:
    """Logarithm of earnings on height, sex and their product, with flat priors."""
    height, male = floats(data["height"]), floats(data["male"])
    return _regression(jnp.log(floats(data["earn"])), (height, male, height * male))


def kidscore_interaction(data: Mapping[str, Any]) -> ConstrainedModel:
    """Test scores of children on their mothers' schooling, IQ and the product; σ ~ Cauchy⁺(2.5)."""
    schooling, iq = floats(data["mom_hs"]), floats(data["mom_iq"])
    return _regression(
        floats(data["kid_score"]), (schooling, iq, schooling * iq), lambda values: cauchy(values["sigma"], 2.5)
    )


def nes(data: Mapping[str, Any]) -> ConstrainedModel:
    """Party identification on ideology, race, three groups of age, education, gender and income, with flat priors."""
    age = np.asarray(data["age_discrete"])
    names = ("real_ideo", "race_adj", "educ1", "gender", "income")
    ideology, race, education, gender, income = (floats(data[name]) for name in names)
    ages = (floats(age == group) for group in (2, 3, 4))
    return _regression(floats(data["partyid7"]), (ideology, race, *ages, education, gender, income))


def blr(data: Mapping[str, Any]) -> ConstrainedModel:
    """A regression without intercept; β ~ N(0, 10²), σ ~ N⁺(0, 10²)."""
    X, y = floats(data["X"]), floats(data["y"])

    def logdensity(values: Values) -> Scalar:
        beta, sigma = values["beta"], values["sigma"]
        return normal(y, X @ beta, sigma) + normal(beta, 0.0, 10.0) + normal(sigma, 0.0, 10.0)

    return ConstrainedModel({"beta": real(X.shape[1]), "sigma": positive()}, logdensity)


def diamonds(data: Mapping[str, Any]) -> ConstrainedModel:
    """Log prices of diamonds on 24 strongly correlated columns.

    b ~ N(0, 1), Intercept ~ t₃(8, 10), σ ~ t₃⁺(0, 10). The first column of X is ones; the others are centred, so that
    `Intercept` is the price of an average diamond.
    """
    y, columns = floats(data["Y"]), np.asarray(data["X"], float)[:, 1:]
    X = floats(columns - columns.mean(axis=0))

    def logdensity(values: Values) -> Scalar:
        b, intercept, sigma = values["b"], values["Intercept"], values["sigma"]
        prior = normal(b, 0.0, 1.0) + student_t(intercept, 3.0, 8.0, 10.0) + student_t(sigma, 3.0, 0.0, 10.0)
        return normal(y, intercept + X @ b, sigma) + prior

    return ConstrainedModel({"b": real(X.shape[1]), "Intercept": real(), "sigma": positive()}, logdensity)


def _regression(
    y: jax.Array, columns: tuple[jax.Array, ...], prior: Callable[[Values], Scalar] = lambda values: jnp.zeros(())
) -> ConstrainedModel:
    """With an intercept, which is the first of β, and a prior that is flat where none is given."""
    X = jnp.stack([jnp.ones_like(y), *columns], axis=1)

    def logdensity(values: Values) -> Scalar:
        return normal(y, X @ values["beta"], values["sigma"]) + prior(values)

    return ConstrainedModel({"beta": real(X.shape[1]), "sigma": positive()}, logdensity)
