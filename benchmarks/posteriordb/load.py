"""Reading posteriors from a folder."""

import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from mongepatch.bench.posteriors import latent, regressions, series
from mongepatch.bench.posteriors.model import Model
from mongepatch.errors import DataError, MongepatchError
from mongepatch.targets import Target

MODELS: Mapping[str, Callable[[Mapping[str, Any]], Model]] = {
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
"""What makes each posterior from the data block of its Stan program, by posteriordb's name."""
DATA, DRAWS = "data.json", "reference_draws.npz"


class Posterior(NamedTuple):
    """A posterior and its reference draws."""

    name: str
    """As in posteriordb: data, hyphen, model."""
    target: Target
    """The log density on the unconstrained space, with Stan's transforms and their Jacobians."""
    constrain: Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]
    """From unconstrained draws by parameter, [chains, draws, …], to the names of the reference, [chains, draws]."""
    reference: Mapping[str, np.ndarray]
    """Draws [chains, draws] by name, such as `beta[1]`."""
    unconstrain: Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]
    """The inverse of `constrain`."""


def available(folder: Path) -> list[str]:
    """Names of the posteriors that have a density here, and data and reference draws in the folder."""
    return [name for name in MODELS if all((folder / name / file).is_file() for file in (DATA, DRAWS))]


def load(folder: Path, name: str) -> Posterior:
    """A posterior by its name, from the folder that holds one folder for each."""
    if name not in MODELS:
        raise DataError(f"There is no density of a posterior {name!r}: those known are {', '.join(MODELS)}.")
    if name not in available(folder):
        raise DataError(f"{folder / name} must hold {DATA} and {DRAWS}, made from what posteriordb publishes.")
    try:
        model = MODELS[name](json.loads((folder / name / DATA).read_text()))
        with (folder / name / DRAWS).open("rb") as stream, np.load(stream) as file:
            names, draws = [str(column) for column in file["names"]], np.asarray(file["draws"], float)
    except MongepatchError:
        raise
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile) as error:
        raise DataError(
            f"{folder / name} is not what posteriordb publishes ({type(error).__name__}: {error}): copy it again."
        ) from error
    scalars = _Scalars(jax.eval_shape(model.reported, model.example))
    if set(names) != set(scalars.names) or draws.ndim != 3 or draws.shape[2] != len(names):
        raise DataError(
            f"{folder / name / DRAWS} must hold draws [chains, draws, parameters] of {', '.join(scalars.names)}; "
            f"it holds {list(draws.shape)} of {', '.join(names)}."
        )
    # Each over chains and draws.
    reported, position = (jax.jit(jax.vmap(jax.vmap(function))) for function in (model.reported, model.position))
    return Posterior(
        name,
        Target.from_density(model.free_logdensity, model.example),
        lambda draws: scalars.split(reported(dict(draws))),
        {column: draws[..., i] for i, column in enumerate(names)},
        lambda draws: {key: np.asarray(value) for key, value in position(scalars.join(draws)).items()},
    )


class _Scalars:
    """Stan's names of the entries of scalars and vectors: `sigma`, `beta[1]`."""

    def __init__(self, shapes: Mapping[str, Any]) -> None:
        self._entries = {
            name: [f"{name}[{i + 1}]" for i in range(array.shape[0])] if array.shape else [name]
            for name, array in shapes.items()
        }
        self._vectors = {name for name, array in shapes.items() if array.shape}
        self.names = [entry for entries in self._entries.values() for entry in entries]

    def split(self, values: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Draws of arrays to draws of their entries."""
        return {
            entry: np.asarray(values[name])[..., i] if name in self._vectors else np.asarray(values[name])
            for name, entries in self._entries.items()
            for i, entry in enumerate(entries)
        }

    def join(self, draws: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The inverse of `split`."""
        return {
            name: np.stack([draws[entry] for entry in entries], axis=-1) if name in self._vectors else draws[entries[0]]
            for name, entries in self._entries.items()
        }
