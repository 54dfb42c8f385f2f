"""A model in words: its random variables, and the residual that each one got."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp

from mongepatch.frontends.numpyro.model import is_latent
from mongepatch.frontends.numpyro.residuals import family_of

_SHAPES = ("ExpandedDistribution", "Independent", "MaskedDistribution")


def describe(sites: Mapping[str, Mapping[str, Any]], counts: Mapping[str, int]) -> str:
    """One line a site: name, distribution, shape, what it is, and its residual."""
    table = [_row(site, counts.get(name, 0)) for name, site in sites.items() if site["type"] == "sample"]
    widths = [max(len(row[column]) for row in table) for column in range(3)]
    lines = [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)), row[3]]) for row in table
    ]
    total = sum(counts.values())
    return "\n".join([*lines, f"{total} residuals in all, of what the parameters touch."])


def _row(site: Mapping[str, Any], count: int) -> tuple[str, str, str, str]:
    fn, shape, latent = site["fn"], jnp.shape(site["value"]), is_latent(site)
    kind = "latent" if latent else "factor" if site["infer"].get("is_auxiliary") else "observed"
    formula = f"{count} residual{'s' * (count != 1)}: {_formula(fn, latent)}" if count else "no residual"
    return site["name"], _name(fn), f"{kind}, shape {shape}" if any(shape) else kind, formula


def _name(fn: Any) -> str:
    """A distribution's name, without what says only how many of them there are."""
    name = type(fn).__name__
    return _name(fn.base_dist) if name in _SHAPES else name


def _formula(fn: Any, latent: bool) -> str:
    """The formula of the distribution that the residual is made from; its x is the value before transforms."""
    inner = fn
    while not family_of(inner).formula:
        inner = inner.base_dist
    family = family_of(inner)
    formula = family.formula if latent or not family.of_data else f"{family.formula}, and {family.of_data}"
    return formula if _name(fn) == _name(inner) else f"{formula}, of the {_name(inner)} that it is made of"
