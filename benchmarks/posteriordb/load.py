"""Posteriors with a JAX density, by name, from a folder."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from benchmarks.measures.scalars import Draws, from_stan_scalars, stan_names, stan_scalars
from benchmarks.posteriordb import latent, regressions, series
from benchmarks.posteriordb.folder import DATA, DRAWS, has_data, has_draws, read_data, read_draws, reference
from benchmarks.posteriordb.model import ConstrainedModel
from mongepatch.errors import DataError, MongepatchError
from mongepatch.targets import Target

MODELS: Mapping[str, Callable[[Mapping[str, Any]], ConstrainedModel]] = {
    "arK-arK": series.ark,
    "diamonds-diamonds": regressions.diamonds,
    "earnings-logearn_interaction": regressions.logearn_interaction,
    "eight_schools-eight_schools_noncentered": latent.eight_schools_noncentered,
    "garch-garch11": series.garch11,
    "gp_pois_regr-gp_pois_regr": latent.gp_pois_regr,
    "hmm_example-hmm_example": series.hmm_example,
    "hudson_lynx_hare-lotka_volterra": series.lotka_volterra,
    "kidiq-kidscore_interaction": regressions.kidscore_interaction,
    "low_dim_gauss_mix-low_dim_gauss_mix": latent.low_dim_gauss_mix,
    "nes2000-nes": regressions.nes,
    "sblrc-blr": regressions.blr,
}
"""Functions that build each model from the data block of its Stan program, by posteriordb's name."""


class Posterior(NamedTuple):
    """A posterior and its reference draws."""

    name: str
    """As in posteriordb: data, hyphen, model."""
    target: Target
    """The log density on the unconstrained space, with Stan's transforms and their Jacobians."""
    constrain: Callable[[Draws], dict[str, np.ndarray]]
    """From unconstrained draws by parameter, [chains, draws, …], to the names of the reference, [chains, draws]."""
    reference: Draws
    """Draws [chains, draws] by name, such as `beta[1]`."""
    unconstrain: Callable[[Draws], dict[str, np.ndarray]]
    """The inverse of `constrain`."""


def available(folder: Path) -> list[str]:
    """Names of posteriors that have a JAX density, and data and reference draws in the folder."""
    return [name for name in MODELS if has_data(folder, name) and has_draws(folder, name)]


def load(folder: Path, name: str) -> Posterior:
    """A posterior by its name, from the folder that holds one folder for each."""
    if name not in MODELS:
        raise DataError(f"There is no density of a posterior {name!r}: there are densities of {', '.join(MODELS)}.")
    if name not in available(folder):
        raise DataError(f"{folder / name} must hold {DATA} and {DRAWS}, made from what posteriordb publishes.")
    try:
        model = MODELS[name](read_data(folder, name))
        names, draws = read_draws(folder, name)
    except MongepatchError:
        raise
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{folder / name} is not what posteriordb publishes ({type(error).__name__}: {error}): copy it again."
        ) from error
    shapes = {key: array.shape for key, array in jax.eval_shape(model.reported, model.example).items()}
    expected = stan_names(shapes)
    if set(names) != set(expected) or draws.ndim != 3 or draws.shape[2] != len(names):
        raise DataError(
            f"{folder / name / DRAWS} must hold draws [chains, draws, parameters] of {', '.join(expected)}; "
            f"it holds {list(draws.shape)} of {', '.join(names)}."
        )
    # Each over chains and draws.
    reported, position = (jax.jit(jax.vmap(jax.vmap(function))) for function in (model.reported, model.position))
    return Posterior(
        name,
        Target.from_density(model.free_logdensity, model.example),
        lambda draws: stan_scalars(reported(dict(draws))),
        reference(names, draws),
        lambda draws: {key: np.asarray(value) for key, value in position(from_stan_scalars(draws, shapes)).items()},
    )
