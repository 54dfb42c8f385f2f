"""Sampling from a PyMC model, with PyMC's names for arguments."""

from typing import TYPE_CHECKING, Any

from mongepatch._extras import require
from mongepatch.errors import ModelError, SettingError
from mongepatch.frontends import from_pymc
from mongepatch.sampling.sample import sample

if TYPE_CHECKING:
    from xarray import DataTree


def sample_pymc(
    draws: int = 1000, *, model: Any = None, tune: int | None = None, random_seed: Any = None, **settings: Any
) -> "DataTree":
    """Draw from a PyMC model, like `pymc.sample`.

    Example:
        >>> import pymc as pm
        >>> with pm.Model() as model:
        ...     mu = pm.Normal("mu", 0, 5)
        ...     y = pm.Normal("y", mu, 1, observed=[1.2, 0.4, 2.1])
        ...     tree = mp.sample_pymc(draws=500, tune=500, random_seed=1)
        >>> tree = mp.sample_pymc(model=model, tune=300, progress=False)

    Args:
        draws: number of draws per chain to keep.
        model: a PyMC model; by default the one of the enclosing `with` block.
        tune: PyMC's name for `warmup`.
        random_seed: PyMC's name for `seed`.
        settings: all other arguments of `mongepatch.sample`.

    Returns:
        The same `DataTree` as `mongepatch.sample(mongepatch.from_pymc(model))`.

    Raises:
        ModelError: there is no model, or the model cannot be sampled.
        SettingError: an argument is given by both of its names.
    """
    pymc = require("pymc", "pymc", "mongepatch.sample_pymc")
    for name, pymc_name, value in (("warmup", "tune", tune), ("seed", "random_seed", random_seed)):
        if value is None:
            continue
        if name in settings:
            raise SettingError(f"{pymc_name} is PyMC's name for {name}: give one of them.")
        settings[name] = value
    return sample(from_pymc(_model_in_context(pymc) if model is None else model), draws=draws, **settings)


def _model_in_context(pymc: Any) -> Any:
    try:
        return pymc.modelcontext(None)
    except TypeError as error:
        raise ModelError(
            "There is no model to sample: write `with model: mp.sample_pymc()`, or give the argument model."
        ) from error
