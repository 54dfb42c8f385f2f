"""NumPyro models of posteriordb: hierarchies, centred as there and non-centred, and regressions."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints

from benchmarks.patches.problems.base import ModelFunction, NumpyroProblem
from benchmarks.posteriordb.folder import DATA, has_data, read_data


def _effects(name: str, mean: Any, scale: Any, count: int, is_centred: bool) -> jnp.ndarray:
    """Effects of groups, centred or in units of their scale."""
    with numpyro.plate(f"{name}_index", count):
        if is_centred:
            return numpyro.sample(name, dist.Normal(mean, scale))
        z = numpyro.sample(f"{name}_z", dist.Normal(0, 1))
        return numpyro.deterministic(name, mean + scale * z)


def _positive() -> dist.ImproperUniform:
    return dist.ImproperUniform(constraints.positive, (), ())


def radon(is_centred: bool) -> ModelFunction:
    """Radon in houses of 85 counties."""

    def model(county: np.ndarray, uranium: np.ndarray, floor: np.ndarray, y: np.ndarray) -> None:
        sigma_alpha = numpyro.sample("sigma_alpha", dist.HalfNormal(1))
        sigma_y = numpyro.sample("sigma_y", dist.HalfNormal(1))
        mu_alpha = numpyro.sample("mu_alpha", dist.Normal(0, 10))
        beta = numpyro.sample("beta", dist.Normal(0, 10).expand([2]).to_event(1))
        alpha = _effects("alpha", mu_alpha, sigma_alpha, county.max() + 1, is_centred)
        mean = alpha[county] + uranium * beta[0] + floor * beta[1]
        numpyro.sample("y", dist.Normal(mean, sigma_y).to_event(1), obs=y)

    return model


def seeds(is_centred: bool) -> ModelFunction:
    """Seeds that germinate on 21 plates; effects of plates are relative to their mean."""

    def model(x1: np.ndarray, x2: np.ndarray, total: np.ndarray, count: np.ndarray) -> None:
        alpha = [numpyro.sample(name, dist.Normal(0, 1)) for name in ("alpha0", "alpha1", "alpha2", "alpha12")]
        sigma = numpyro.sample("sigma", dist.HalfCauchy(1))
        c = _effects("c", 0.0, sigma, len(x1), is_centred)
        logits = alpha[0] + alpha[1] * x1 + alpha[2] * x2 + alpha[3] * x1 * x2 + c - c.mean()
        numpyro.sample("count", dist.Binomial(total, logits=logits).to_event(1), obs=count)

    return model


def rats(is_centred: bool) -> ModelFunction:
    """Growth of 30 rats, a straight line for each; flat priors of the scales."""

    def model(rat: np.ndarray, days: np.ndarray, y: np.ndarray) -> None:
        mu_alpha = numpyro.sample("mu_alpha", dist.Normal(0, 100))
        mu_beta = numpyro.sample("mu_beta", dist.Normal(0, 100))
        sigma_y, sigma_alpha, sigma_beta = (
            numpyro.sample(name, _positive()) for name in ("sigma_y", "sigma_alpha", "sigma_beta")
        )
        alpha = _effects("alpha", mu_alpha, sigma_alpha, rat.max() + 1, is_centred)
        beta = _effects("beta", mu_beta, sigma_beta, rat.max() + 1, is_centred)
        numpyro.sample("y", dist.Normal(alpha[rat] + beta[rat] * days, sigma_y).to_event(1), obs=y)

    return model


def surgical(is_centred: bool) -> ModelFunction:
    """Deaths after surgery in 12 hospitals."""

    def model(total: np.ndarray, count: np.ndarray) -> None:
        mu = numpyro.sample("mu", dist.Normal(0, 1000))
        sigmasq = numpyro.sample("sigmasq", dist.InverseGamma(0.001, 0.001))
        b = _effects("b", mu, jnp.sqrt(sigmasq), len(total), is_centred)
        numpyro.sample("count", dist.Binomial(total, logits=b).to_event(1), obs=count)

    return model


def poisson(is_centred: bool) -> ModelFunction:
    """Counts of falcons in 40 years: a cubic trend, and an effect of each year."""

    def model(powers: np.ndarray, count: np.ndarray) -> None:
        alpha = numpyro.sample("alpha", dist.Uniform(-20, 20))
        beta = numpyro.sample("beta", dist.Uniform(-10, 10).expand([3]).to_event(1))
        sigma = numpyro.sample("sigma", dist.Uniform(0, 5))
        eps = _effects("eps", 0.0, sigma, len(count), is_centred)
        numpyro.sample("count", dist.Poisson(jnp.exp(alpha + powers @ beta + eps)).to_event(1), obs=count)

    return model


def kidscore(X: np.ndarray, y: np.ndarray) -> None:
    """Test scores of children on their mothers' schooling, IQ and the product, with flat priors of coefficients."""
    beta = numpyro.sample("beta", dist.ImproperUniform(dist.constraints.real_vector, (), (X.shape[1],)))
    sigma = numpyro.sample("sigma", dist.HalfCauchy(2.5))
    numpyro.sample("y", dist.Normal(X @ beta, sigma).to_event(1), obs=y)


def autoregression(lags: np.ndarray, y: np.ndarray) -> None:
    """A series on its own past."""
    alpha = numpyro.sample("alpha", dist.Normal(0, 10))
    beta = numpyro.sample("beta", dist.Normal(0, 10).expand([lags.shape[1]]).to_event(1))
    sigma = numpyro.sample("sigma", dist.HalfCauchy(2.5))
    numpyro.sample("y", dist.Normal(alpha + lags @ beta, sigma).to_event(1), obs=y)


def _problem(
    form: Callable[[bool], ModelFunction], data: tuple[Any, ...], scales: tuple[str, ...], others: tuple[str, ...]
) -> NumpyroProblem:
    forms = {"non-centred": form(False)}
    return NumpyroProblem(form.__name__, form(True), data, scales=scales, others=others, forms=forms)


def _radon(data: Mapping[str, Any]) -> NumpyroProblem:
    county = np.asarray(data["county_idx"]) - 1
    arrays = (_floats(data, name) for name in ("log_uppm", "floor_measure", "log_radon"))
    return _problem(radon, (county, *arrays), ("sigma_alpha", "sigma_y"), ("mu_alpha", "beta", "alpha"))


def _seeds(data: Mapping[str, Any]) -> NumpyroProblem:
    arrays = (_floats(data, "x1"), _floats(data, "x2"), np.asarray(data["N"]), np.asarray(data["n"]))
    return _problem(seeds, arrays, ("sigma",), ("alpha0", "alpha1", "alpha2", "alpha12", "c"))


def _rats(data: Mapping[str, Any]) -> NumpyroProblem:
    arrays = (np.asarray(data["rat"]) - 1, _floats(data, "x") - data["xbar"], _floats(data, "y"))
    return _problem(rats, arrays, ("sigma_y", "sigma_alpha", "sigma_beta"), ("mu_alpha", "mu_beta", "alpha", "beta"))


def _surgical(data: Mapping[str, Any]) -> NumpyroProblem:
    return _problem(surgical, (np.asarray(data["n"]), np.asarray(data["r"])), ("sigmasq",), ("mu", "b"))


def _poisson(data: Mapping[str, Any]) -> NumpyroProblem:
    year = _floats(data, "year")
    powers = np.stack([year, year**2, year**3], axis=1)
    return _problem(poisson, (powers, np.asarray(data["C"])), ("sigma",), ("alpha", "beta", "eps"))


def _floats(data: Mapping[str, Any], name: str) -> np.ndarray:
    return np.asarray(data[name], float)


def _kidscore(data: Mapping[str, Any]) -> NumpyroProblem:
    schooling, iq, y = (np.asarray(data[name], float) for name in ("mom_hs", "mom_iq", "kid_score"))
    X = np.stack([np.ones_like(iq), schooling, iq, schooling * iq], axis=1)
    return NumpyroProblem("kidscore", kidscore, (X, y), scales=("sigma",), others=("beta",))


def _autoregression(data: Mapping[str, Any]) -> NumpyroProblem:
    series, order = np.asarray(data["y"], float), int(data["K"])
    lags = np.stack([series[order - lag : len(series) - lag] for lag in range(1, order + 1)], axis=1)
    return NumpyroProblem("arK", autoregression, (lags, series[order:]), scales=("sigma",), others=("alpha", "beta"))


Maker: TypeAlias = Callable[[Mapping[str, Any]], NumpyroProblem]
"""Builds a problem from the data block of its Stan program."""
HIERARCHIES: Mapping[str, Maker] = {
    "radon_mn-radon_hierarchical_intercept_centered": _radon,
    "seeds_data-seeds_centered_model": _seeds,
    "rats_data-rats_model": _rats,
    "surgical_data-surgical_model": _surgical,
    "GLMM_Poisson_data-GLMM_Poisson_model": _poisson,
}
"""By posteriordb's name."""
REGRESSIONS: Mapping[str, Maker] = {
    "kidiq-kidscore_interaction": _kidscore,
    "arK-arK": _autoregression,
}
"""By posteriordb's name."""


def problems(folder: Path, makers: Mapping[str, Maker]) -> list[NumpyroProblem]:
    """The problems whose data are in the folder."""
    found = []
    for name, make in makers.items():
        if has_data(folder, name):
            found.append(make(read_data(folder, name)))
        else:
            print(f"{name} is left out: there is no {folder / name / DATA}.", file=sys.stderr)
    return found
