"""Checks of NumPyro models: errors that name the site that cannot be sampled."""

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer import init_to_uniform
from numpyro.primitives import Messenger

from mongepatch.errors import ModelError
from mongepatch.frontends.numpyro.explain import check_support

_ATTEMPTS = 10
"""Points at which a model is tried."""


class _LastSite(Messenger):  # type: ignore[misc]  # numpyro has no types
    """Records the name of the last site that a model reached."""

    name: str | None = None

    def process_message(self, msg: dict[str, Any]) -> None:
        self.name = msg.get("name") or self.name


def trace_model(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The sites of a model at one point. Raise if the model fails, and name the site.

    Some models fail at some points, as one whose differential equation has no solution there: others are tried.
    """
    _check_arguments(model, args, kwargs)
    failures: list[tuple[str, Exception]] = []
    for attempt in range(_ATTEMPTS):
        last_site = _LastSite(model)  # innermost, so that it sees a site before all other handlers
        seeded = handlers.substitute(handlers.seed(last_site, jax.random.key(attempt)), substitute_fn=init_to_uniform)
        try:
            return dict(handlers.trace(seeded).get_trace(*args, **kwargs))
        except Exception as error:
            name = last_site.name
            failures.append(("before its first site" if name is None else f"at or after the site {name!r}", error))
        if not isinstance(failures[-1][1], ValueError):  # NumPyro's own answer to parameters that are no numbers
            break
    where, first = failures[0]
    raise ModelError(f"The model failed {where}: {type(first).__name__}: {first}") from first


def _check_arguments(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not callable(model):
        raise ModelError(
            f"A NumPyro model must be a function that calls numpyro.sample; this is a {type(model).__name__}."
        )
    try:
        inspect.signature(model).bind(*args, **kwargs)
    except TypeError as error:
        raise ModelError(f"The model cannot be called with these arguments: {error}.") from error
    except ValueError:
        return  # some callables have no signature


def check_sites(sites: Mapping[str, Mapping[str, Any]]) -> None:
    """Raise where a plate subsamples."""
    for name, site in sites.items():
        if site["type"] == "plate" and site["args"][1] not in (None, site["args"][0]):
            raise ModelError(
                f"The plate {name!r} takes a random subsample of {site['args'][1]} out of {site['args'][0]}, so the "
                "log density changes from call to call. Leave out subsample_size."
            )


def unconstrained_value(site: Mapping[str, Any]) -> Any:
    """The unconstrained value of a site. Raise if its support has no map to the real line."""
    try:
        return biject_to(site["fn"].support).inv(site["value"])
    except Exception as error:
        raise ModelError(
            f"The site {site['name']!r} ({type(site['fn']).__name__}) has a support that cannot be mapped to the real "
            f"line: {type(error).__name__}: {error} Reparametrize it with numpyro.handlers.reparam."
        ) from error


def check_log_prob(site: Mapping[str, Any]) -> None:
    """Raise if a site has no log density, or has data that is NaN."""
    if site["type"] != "sample":
        return
    kind = f"The site {site['name']!r} ({type(site['fn']).__name__})"
    has_nan = bool(site["is_observed"]) and bool(np.isnan(np.asarray(site["value"], float)).any())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about masked values; others are repeated when the density is computed
            # Computed only where it is looked at: the single operations would be compiled one by one.
            evaluate = (lambda log_prob, value: log_prob(value)) if has_nan else jax.eval_shape
            density = evaluate(site["fn"].log_prob, site["value"])
    except Exception as error:
        raise ModelError(f"{kind} has no log density: {_shapes(site)}{type(error).__name__}: {error}") from error
    if site["is_observed"] and _is_outer_product(site, density.shape):
        raise ModelError(
            f"{kind} pairs every value with every parameter: {_shapes(site)}so its log density has the shape "
            f"{density.shape}. Give both the same shape, such as y[:, None] or y.squeeze()."
        )
    check_support(site)
    if has_nan and not np.isfinite(np.asarray(density)).all():
        raise ModelError(
            f"{kind} has observed values that are NaN. Leave them out, or mask them with numpyro.handlers.mask."
        )


def _shapes(site: Mapping[str, Any]) -> str:
    fn, kind = site["fn"], "observed values" if site["is_observed"] else "values"
    return f"its {kind} have the shape {np.shape(site['value'])}, its distribution has {fn.shape()}; "


def _is_outer_product(site: Mapping[str, Any], density: tuple[int, ...]) -> bool:
    """Whether broadcasting made more terms than there are values or distributions: no model means that."""
    fn, values = site["fn"], np.shape(site["value"])
    batch = values[: len(values) - fn.event_dim]
    return math.prod(density) > max(math.prod(batch), math.prod(fn.batch_shape))
