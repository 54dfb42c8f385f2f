"""Front ends: models written for other libraries, as targets. Each library is imported where it is used."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mongepatch._extras import require, require_at_least
from mongepatch.targets import Target

if TYPE_CHECKING:
    from xarray import DataTree

__all__ = ["from_numpyro", "from_pymc", "sample_pymc"]

_PYMC = "5.28"
"""The least version of PyMC that is known to work."""


def from_numpyro(model: Callable[..., Any], *args: Any, **kwargs: Any) -> Target:
    """A target from a NumPyro model and its arguments, data included.

    Its log density is that of the model's latent sites in unconstrained coordinates; results have the sites and
    deterministic sites as the model knows them, with plates as dims. `Target.residuals` is derived from the model, one
    residual or more for each of its random variables; `Target.describe()` says which.

    Raises:
        ModelError: the model fails, has no latent sites, or has one that cannot be sampled.
    """
    require("numpyro", "numpyro", "mongepatch.from_numpyro")
    from mongepatch.frontends.numpyro.build import build

    return build(model, args, kwargs)


def from_pymc(model: Any) -> Target:
    """A target from a PyMC model, with the data that it has now.

    Its log density is PyMC's own, of its value variables, through PyTensor's JAX backend; results have the free and
    deterministic variables as the model knows them, with its dims and coords. `Target.residuals` is derived from the
    model by the same table of distributions as for NumPyro; `Target.describe()` says which residual a variable got.

    Raises:
        ModelError: the model has no free variables, or has one that cannot be sampled.
    """
    _require_pymc("mongepatch.from_pymc")
    from mongepatch.frontends.pymc.build import build

    return build(model)


def sample_pymc(
    draws: int = 1000, *, model: Any = None, tune: int | None = None, random_seed: Any = None, **settings: Any
) -> "DataTree":
    """Draw from a PyMC model: `with model: mp.sample_pymc()`, for the habit of PyMC's users.

    Args:
        draws: draws of each chain to keep.
        model: a PyMC model; by default that of the `with` block.
        tune: PyMC's name for `warmup`.
        random_seed: PyMC's name for `seed`.
        settings: all other arguments of `mongepatch.sample`.

    Returns:
        What `mongepatch.sample(mongepatch.from_pymc(model))` returns.
    """
    _require_pymc("mongepatch.sample_pymc")
    from mongepatch.frontends.pymc.sampling import sample_model

    return sample_model(model, draws, tune, random_seed, settings)


def _require_pymc(purpose: str) -> None:
    require_at_least("pymc", _PYMC, "pymc", purpose)
    require("numpyro", "pymc", purpose)
