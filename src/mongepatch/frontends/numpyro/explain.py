"""Why the log density of a model is not finite at a position, in terms of its sites."""

import warnings
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpyro.distributions.constraints import Constraint

from mongepatch.errors import ModelError
from mongepatch.frontends.not_finite import about_values
from mongepatch.frontends.residuals import distribution_name


def explain(sites: Mapping[str, Mapping[str, Any]]) -> str:
    """A sentence on the first site whose log density is not finite; empty where there is none."""
    for name, site in sites.items():
        if site["type"] != "sample" or site["value"] is None:
            continue
        try:
            densities = np.asarray(site["fn"].log_prob(site["value"]))
        except Exception:
            continue  # whose fault that is, was said before
        if not np.isfinite(densities).all():
            return _sentence(name, site, densities)
    return ""


def check_support(site: Mapping[str, Any]) -> None:
    """Raise where data lie outside of a support that no parameter changes, and have no probability there."""
    support = getattr(type(_innermost(site["fn"])), "support", None)
    if not site["is_observed"] or isinstance(support, property) or not isinstance(support, Constraint):
        return
    values = np.asarray(site["value"])
    if np.asarray(site["fn"].support(values)).all() or np.isnan(values.astype(float)).any():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPyro's own, which names no site
        reason = explain({site["name"]: site})
    if reason:
        raise ModelError(reason)


def _sentence(name: str, site: Mapping[str, Any], densities: np.ndarray) -> str:
    fn, values = site["fn"], np.asarray(site["value"])
    what = f"The site {name!r} ({distribution_name(fn)})"
    for parameter, value in _parameters(fn).items():
        if not np.isfinite(value).all():
            return f"{what} has the parameter {parameter}, which is {value[~np.isfinite(value)][0]} there."
    found = about_values(name, values, densities, observed=site["is_observed"], one_each=not fn.event_dim)
    return f"{what}: {found}{_support(fn, values)}"


def _support(fn: Any, values: np.ndarray) -> str:
    try:
        inside = np.asarray(fn.support(jnp.asarray(values)))
    except Exception:
        return "."
    if inside.all():
        return "."
    return f", outside of the support of the distribution ({_words(fn.support)}): check the data and the distribution."


def _words(support: Any) -> str:
    while hasattr(support, "base_constraint"):
        support = support.base_constraint
    words = type(support).__name__.strip("_").replace("_", " ")
    known = {
        "IntegerInterval": "integers",
        "IntegerNonnegative": "integers",
        "IntegerPositive": "integers",
        "Boolean": "0 or 1",
    }
    bounds = [
        f"{side} {np.asarray(bound)}" for side in ("lower", "upper") if (bound := _bound(support, side)) is not None
    ]
    return ", ".join([known.get(words, words), *bounds])


def _bound(support: Any, side: str) -> Any:
    bound = getattr(support, f"{side}_bound", None)
    return bound if bound is not None and np.size(bound) == 1 else None


def _parameters(fn: Any) -> dict[str, np.ndarray]:
    fn = _innermost(fn)
    values = {name: vars(fn).get(name) for name in getattr(fn, "arg_constraints", {})}
    return {name: np.asarray(value, float) for name, value in values.items() if value is not None}


def _innermost(fn: Any) -> Any:
    """A distribution without wrappers."""
    while hasattr(fn, "base_dist"):
        fn = fn.base_dist
    return fn
