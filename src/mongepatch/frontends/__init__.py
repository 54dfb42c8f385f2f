"""Front ends: models written for other libraries, as targets. Each library is imported where it is used."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from mongepatch._extras import require, require_at_least
from mongepatch.targets import Target

if TYPE_CHECKING:
    from xarray import DataTree

__all__ = ["from_numpyro", "from_pymc", "from_stan", "sample_pymc"]

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


def from_stan(
    program: str | Path,
    data: Mapping[str, Any] | str | Path | None = None,
    *,
    seed: int = 0,
    hessian: Literal["exact", "differences"] = "exact",
) -> Target:
    """A target from a Stan program and its data.

    Its log density is Stan's, of unconstrained parameters with the Jacobians of their transforms, up to a constant; it,
    its gradient and products with its Hessian are computed by Stan, called from compiled JAX programs. Results have
    parameters, transformed parameters and generated quantities by Stan's names and in Stan's shapes. A program does not
    say what its residuals are, so that there is no patch unless `mongepatch.sample` is given them.

    Args:
        program: the code of a Stan program, or the path of a `.stan` file.
        data: by name, or the path of a JSON file.
        seed: of random numbers in the blocks `generated quantities` and `transformed data`.
        hessian: how the Monge metric gets its products with the Hessian: "exact", by Stan's second derivatives where
            it has them, or "differences", of two gradients, which is faster where there are many data.

    Raises:
        ModelError: the program has errors, or Stan does not take the data.
        MissingExtraError: nothing that compiles Stan programs is installed.
    """
    from mongepatch.frontends.stan.build import build

    return build(program, data, seed, hessian)
