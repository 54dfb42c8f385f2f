"""Front ends: models written for other libraries, as targets. Each library is imported where it is used."""

from collections.abc import Callable
from typing import Any

from mongepatch._extras import require
from mongepatch.targets import Target

__all__ = ["from_numpyro"]


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
