"""Front ends: targets from models that are written for NumPyro, PyMC or Stan.

Each of these libraries is imported when its function is called.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from mongepatch._extras import require, require_at_least
from mongepatch._keywords import checked_keywords
from mongepatch.targets import Target

__all__ = ["from_numpyro", "from_pymc", "from_stan"]

_OLDEST_PYMC = "5.28"
"""The oldest version of PyMC that is known to work."""


def from_numpyro(model: Callable[..., Any], *args: Any, **kwargs: Any) -> Target:
    """Make a target from a NumPyro model and its arguments, data included.

    The log density is that of the model's latent sites in unconstrained coordinates. Results have the latent and
    deterministic sites in the model's own coordinates, with plates as dims. `Target.residuals` is found from the model:
    each random variable has one residual or more, and `Target.describe()` lists them.

    Example:
        >>> import numpyro, numpyro.distributions as dist
        >>> def model(y):
        ...     mu = numpyro.sample("mu", dist.Normal(0, 5))
        ...     sigma = numpyro.sample("sigma", dist.HalfNormal(2))
        ...     numpyro.sample("y", dist.Normal(mu, sigma), obs=y)
        >>> target = mp.from_numpyro(model, np.array([1.2, 0.4, 2.1]))
        >>> target.dimension  # then mp.sample(target)
        2

    Raises:
        ModelError: the model fails, has no latent sites, or has a site that cannot be sampled.
    """
    require("numpyro", "numpyro", "mongepatch.from_numpyro")
    from mongepatch.frontends.numpyro.build import build

    return build(model, args, kwargs)


def from_pymc(model: Any) -> Target:
    """Make a target from a PyMC model, with the data that it has at this moment.

    The log density is PyMC's own, a function of its value variables, compiled by PyTensor's JAX backend. Results have
    the free and deterministic variables with the model's dims and coords. `Target.residuals` is found from the model
    with the same table of distributions as for NumPyro, and `Target.describe()` lists the residuals of each variable.

    Example:
        >>> import pymc as pm
        >>> with pm.Model() as model:
        ...     mu = pm.Normal("mu", 0, 5)
        ...     y = pm.Normal("y", mu, 1, observed=[1.2, 0.4, 2.1])
        >>> target = mp.from_pymc(model)
        >>> target.dimension  # then mp.sample(target)
        1

    Raises:
        ModelError: the model has no free variables, or has one that cannot be sampled.
    """
    require_at_least("pymc", _OLDEST_PYMC, "pymc", "mongepatch.from_pymc")
    require("numpyro", "pymc", "mongepatch.from_pymc")
    from mongepatch.frontends.pymc.build import build

    return build(model)


@checked_keywords
def from_stan(
    program: str | Path,
    data: Mapping[str, Any] | str | Path | None = None,
    *,
    seed: int = 0,
    hessian: Literal["exact", "differences"] = "exact",
    predictions: Mapping[str, str] | None = None,
) -> Target:
    """Make a target from a Stan program and its data.

    The log density is Stan's, a function of the unconstrained parameters with the Jacobians of their transforms, up to
    a constant. Stan computes the density, its gradient and its Hessian-vector products, and compiled JAX programs call
    Stan. Results have parameters, transformed parameters and generated quantities with Stan's names and shapes. A Stan
    program does not say what its residuals are, so there is no patch unless `mongepatch.sample` is given `residuals`.

    Example:
        >>> code = "data { vector[3] y; } parameters { real mu; } model { mu ~ normal(0, 5); y ~ normal(mu, 1); }"
        >>> target = mp.from_stan(code, {"y": [1.2, 0.4, 2.1]})
        >>> target.dimension  # then mp.sample(target)
        1

    Args:
        program: the code of a Stan program, or the path of a `.stan` file.
        data: a dict by name, or the path of a JSON file.
        seed: the seed of random numbers in the blocks `generated quantities` and `transformed data`.
        hessian: how Hessian-vector products are computed for the Monge metric. "exact" uses Stan's second derivatives
            where Stan has them. "differences" subtracts two gradients, which is faster with many observations.
        predictions: generated quantities that are data as it could have been observed, by the name of the data, for
            `Target.predict`: {"y": "y_new"}. Those with names such as `y_rep` are found. `Target.log_likelihood` takes
            the generated quantity `log_lik`, or `log_lik_y` for data `y`.

    Raises:
        ModelError: the program has errors, or Stan rejects the data.
        MissingExtraError: no compiler of Stan programs is installed.
    """
    from mongepatch.frontends.stan.build import build

    return build(program, data, seed, hessian, predictions)
