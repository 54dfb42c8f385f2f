"""A posterior in a front end: how it is sampled, and what its draws are to be compared with."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mongepatch.bench import posteriors
from mongepatch.bench.names import check_problems
from mongepatch.bench.posteriors.load import DATA, DRAWS
from mongepatch.errors import SettingError
from mongepatch.frontends import from_numpyro, from_stan
from mongepatch.targets import Target

Draws: TypeAlias = Mapping[str, np.ndarray]


class Case(NamedTuple):
    """One posterior in one front end."""

    name: str
    front_end: str
    target: Target
    init: Any
    """Where chains start; by itself the target starts within 2 of the origin."""
    quantities: Callable[[Draws], dict[str, np.ndarray]]
    """Scalars [chain, draw] by Stan's names, from the variables of a result."""
    reference: Draws
    """The same, as posteriordb has them."""


def cases(folder: Path, only: Collection[str] = ()) -> Iterator[Case]:
    """All that have reference draws in the folder, or some by name; those not in reach are told."""
    names = sorted(path.parent.name for path in folder.glob(f"*/{DRAWS}"))
    if not names:
        raise SettingError(f"{folder} has no reference draws.")
    check_problems(only, names)
    for name in only or names:
        yield from _in_jax(folder, name)
        yield from _in_numpyro(folder, name)
        yield from _in_stan(folder, name)


def entries(variables: Draws) -> dict[str, np.ndarray]:
    """Every scalar of draws [chain, draw, …] by Stan's name, such as `beta[1]` or `Omega[1,2]`."""
    return {
        f"{name}[{','.join(str(i + 1) for i in index)}]" if index else name: np.asarray(values)[(..., *index)]
        for name, values in variables.items()
        for index in np.ndindex(np.shape(values)[2:])
    }


def _in_jax(folder: Path, name: str) -> Iterator[Case]:
    if name in posteriors.available(folder):
        posterior = posteriors.load(folder, name)
        # Densities of bare JAX do not know where to start: around one of the reference draws.
        free = posterior.unconstrain(posterior.reference)
        init = {key: values[0, 0] for key, values in free.items()}
        yield Case(name, "JAX", posterior.target, init, posterior.constrain, posterior.reference)


def _in_numpyro(folder: Path, name: str) -> Iterator[Case]:
    if find_spec("numpyro") is None:
        return
    from mongepatch.bench.patches.problems import regular, schools

    data = json.loads((folder / name / DATA).read_text())
    if name in regular.FOLDERS:
        problem = regular.FOLDERS[name](data)
        model, arguments = problem.centred, problem.data
    elif name == "eight_schools-eight_schools_centered":
        model, arguments = schools.centred, tuple(np.asarray(data[key], float) for key in ("sigma", "y"))
    else:
        return
    yield Case(name, "NumPyro", from_numpyro(model, *arguments), None, entries, _reference(folder, name))


def _in_stan(folder: Path, name: str) -> Iterator[Case]:
    if find_spec("httpstan") is None:
        return
    for path in sorted((folder / name).glob("*.stan")):
        yield Case(name, "Stan", from_stan(path, folder / name / DATA), None, entries, _reference(folder, name))


def _reference(folder: Path, name: str) -> dict[str, np.ndarray]:
    with np.load(folder / name / DRAWS) as file:
        return {str(column): file["draws"][..., i] for i, column in enumerate(file["names"])}
