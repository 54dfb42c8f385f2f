"""The residual of a distribution that no family knows."""

import jax.numpy as jnp

from mongepatch.frontends.residuals.site import Residual, Rows, Site

FORMULA = "(x − loc)/scale or, where it has no such parameters, its unconstrained value"
OF_DATA = "log scale; or (x − mean)/sd or the log density instead"


def fallback(site: Site) -> Residual:
    """Something of order one that follows the parameters where the distribution says how.

    The log density is the last resort, and for data alone: its derivative vanishes at the mode, where a metric is
    needed most. An unconstrained value never does, and is about as wide as priors usually are.
    """
    fn = site.fn
    if fn.event_dim == 0 and hasattr(fn, "loc") and hasattr(fn, "scale"):
        z = (site.value - fn.loc) / fn.scale
        return [z, jnp.log(fn.scale)] if site.observed else z
    if not site.observed:
        raw = site.value if site.raw is None else site.raw
        return Rows(raw, max(jnp.ndim(raw) - len(site.batch), 0))
    try:
        return (site.value - fn.mean) / jnp.sqrt(fn.variance)
    except (NotImplementedError, AttributeError):
        return Rows(fn.log_prob(site.value), 0)
