"""A posterior in a front end, with its starting point and the reference draws."""

from collections.abc import Callable, Collection, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measures.names import check_problems
from benchmarks.measures.scalars import Draws, stan_scalars
from benchmarks.posteriordb.folder import DATA, names_with_draws, read_data, read_draws, reference
from benchmarks.posteriordb.load import available, load
from mongepatch.errors import SettingError
from mongepatch.frontends import from_numpyro, from_stan
from mongepatch.targets import Target


class PosteriorCase(NamedTuple):
    """One posterior in one front end."""

    name: str
    front_end: str
    target: Target
    init: Any
    """Where chains start; None for the default of the target."""
    quantities: Callable[[Draws], dict[str, np.ndarray]]
    """Scalars [chain, draw] by Stan's names, from the variables of a result."""
    reference: Draws
    """The reference draws of these scalars."""


def cases(folder: Path, only: Collection[str] = ()) -> Iterator[PosteriorCase]:
    """All posteriors that have reference draws in the folder, or some by name, in every front end that has them."""
    names = names_with_draws(folder)
    if not names:
        raise SettingError(f"{folder} has no reference draws: name a folder of posteriordb's data and draws.")
    check_problems(only, names)
    for name in only or names:
        yield from _in_jax(folder, name)
        yield from _in_numpyro(folder, name)
        yield from _in_stan(folder, name)


def _in_jax(folder: Path, name: str) -> Iterator[PosteriorCase]:
    if name in available(folder):
        posterior = load(folder, name)
        # A bare JAX density has no starting point: chains start around one of the reference draws.
        free = posterior.unconstrain(posterior.reference)
        init = {key: values[0, 0] for key, values in free.items()}
        yield PosteriorCase(name, "JAX", posterior.target, init, posterior.constrain, posterior.reference)


def _in_numpyro(folder: Path, name: str) -> Iterator[PosteriorCase]:
    if find_spec("numpyro") is None:
        return
    from benchmarks.patches.problems import schools
    from benchmarks.posteriordb.numpyro_models import REGRESSIONS

    data = read_data(folder, name)
    if name in REGRESSIONS:
        problem = REGRESSIONS[name](data)
        model, arguments = problem.centred, problem.data
    elif name == "eight_schools-eight_schools_centered":
        model, arguments = schools.centred, tuple(np.asarray(data[key], float) for key in ("sigma", "y"))
    else:
        return
    yield PosteriorCase(
        name, "NumPyro", from_numpyro(model, *arguments), None, stan_scalars, reference(*read_draws(folder, name))
    )


def _in_stan(folder: Path, name: str) -> Iterator[PosteriorCase]:
    if find_spec("httpstan") is None:
        return
    for path in sorted((folder / name).glob("*.stan")):
        draws = reference(*read_draws(folder, name))
        yield PosteriorCase(name, "Stan", from_stan(path, folder / name / DATA), None, stan_scalars, draws)
