"""Front ends: models written for other libraries, as targets. Each library is imported where it is used."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from mongepatch._extras import require
from mongepatch.targets import Target

__all__ = ["from_numpyro", "from_stan"]


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
    say what its residuals are, so that there is no patch: the metrics are the Euclidean and the Monge one.

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
