"""Checks of NumPyro models: errors that name the site that cannot be sampled."""

import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from numpyro.distributions import biject_to
from numpyro.primitives import Messenger

from mongepatch.errors import ModelError
from mongepatch.frontends.numpyro.enumeration import check_enumerable, check_in_plates, is_discrete_latent
from mongepatch.frontends.numpyro.explain import check_support
from mongepatch.frontends.numpyro.sites import Sites, abstract_sites, sites_at
from mongepatch.program import UNTRACEABLE, WRITE_IT_WITH_JAX

_ATTEMPTS = 10
"""Points at which a model is tried."""


class _LastSite(Messenger):  # type: ignore[misc]  # numpyro has no types
    """Records the name of the last site that a model reached."""

    name: str | None = None

    def process_message(self, msg: dict[str, Any]) -> None:
        self.name = msg.get("name") or self.name

    @property
    def where(self) -> str:
        """Where in the model that is."""
        return "before its first site" if self.name is None else f"at or after the site {self.name!r}"


def checked_sites(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sites:
    """The sites of a model at one point. Raise where the model cannot be sampled, and name the site.

    The numbers at the point are computed only where something seems to be wrong, to say what it is.
    """
    _check_arguments(model, args, kwargs)
    try:
        sites = abstract_sites(model, args, kwargs)
        _check_all(sites)
    except Exception:
        sites = _trace(model, args, kwargs)
        _check_all(sites)
    return sites


def _check_all(sites: Sites) -> None:
    """Raise where a model with these sites cannot be sampled."""
    _check_plates(sites)
    check_enumerable(sites)
    latent = [site for site in sites.values() if is_latent(site)]
    if not latent:
        raise ModelError("The model has no latent sites, so there is nothing to sample: every numpyro.sample has obs.")
    for site in latent:
        unconstrained_shape(site)
    for site in sites.values():
        _check_log_prob(site)
    check_in_plates(sites)


def is_latent(site: Mapping[str, Any]) -> bool:
    """Whether a site is one of the parameters. A Delta is not, since the other sites determine its value."""
    if site["type"] != "sample" or site["is_observed"]:
        return False
    return not _is_delta(site["fn"]) and not is_discrete_latent(site)


def _is_delta(fn: Any) -> bool:
    while hasattr(fn, "base_dist"):
        fn = fn.base_dist
    return type(fn).__name__ == "Delta"


def _trace(model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Sites:
    """The sites of a model at one point, computed. Raise if the model fails, and name the site.

    Some models fail at some points, as one whose differential equation has no solution there: others are tried.
    """
    failures: list[tuple[str, Exception]] = []
    for attempt in range(_ATTEMPTS):
        last_site = _LastSite(model)  # innermost, so that it sees a site before all other handlers
        try:
            return sites_at(last_site, args, kwargs, jax.random.key(attempt))
        except Exception as error:
            failures.append((last_site.where, error))
        if not isinstance(failures[-1][1], ValueError):  # NumPyro's own answer to parameters that are no numbers
            break
    where, first = failures[0]
    if isinstance(first, UNTRACEABLE):
        raise _untraceable(where) from first
    raise ModelError(f"The model failed {where}: {type(first).__name__}: {first}") from first


@contextmanager
def naming_what_is_untraceable(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Iterator[None]:
    """Raise, and name the site, where JAX cannot trace what is computed from a model that runs at single points."""
    try:
        yield
    except UNTRACEABLE as error:
        last_site = _LastSite(model)
        try:
            abstract_sites(last_site, args, kwargs)
        except Exception:
            raise _untraceable(last_site.where) from error
        raise _untraceable("somewhere") from error


def _untraceable(where: str) -> ModelError:
    return ModelError(
        f"The model cannot be differentiated by JAX: {where}, it turns values of sites into NumPy arrays or Python "
        f"numbers, or branches on them. {WRITE_IT_WITH_JAX}"
    )


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


def _check_plates(sites: Mapping[str, Mapping[str, Any]]) -> None:
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


def unconstrained_shape(site: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape of the unconstrained value of a site."""
    return jax.eval_shape(lambda value: unconstrained_value({**site, "value": value}), site["value"]).shape


def _check_log_prob(site: Mapping[str, Any]) -> None:
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
