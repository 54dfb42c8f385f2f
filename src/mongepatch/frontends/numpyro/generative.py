"""Data and prior draws of a NumPyro model, and the log likelihood of its data, at many draws at once."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import numpy as np
from numpyro import handlers
from numpyro.primitives import Messenger

from mongepatch._groups import dataset_of
from mongepatch.errors import ModelError, SettingError
from mongepatch.frontends.numpyro.data import data_name, is_data, observed_entries
from mongepatch.frontends.numpyro.model import NumPyroModel
from mongepatch.program import map_rows

if TYPE_CHECKING:
    from xarray import Dataset


Arguments: TypeAlias = tuple[tuple[Any, ...], Mapping[str, Any]]
"""Arguments of a model by place and by name."""


class _Unconditioned(Messenger):  # type: ignore[misc]  # numpyro has no types
    """Lets observed sites be drawn, as if the model had no data."""

    def process_message(self, msg: dict[str, Any]) -> None:
        if is_data(msg):
            msg["is_observed"], msg["value"] = False, None


class NumPyroDraws:
    """The groups of a result that a model makes: see `mongepatch.targets.generative`.

    Args:
        model: the model.
        function: the user's function.
        args: its arguments.
        kwargs: its arguments by name.
        dims: names of the dimensions of its sites.
    """

    def __init__(
        self,
        model: NumPyroModel,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        dims: Mapping[str, list[str]],
    ) -> None:
        self._model, self._function, self._args, self._kwargs = model, function, args, dict(kwargs)
        self._dims = dims
        self._observed = [name for name, site in model.sites.items() if is_data(site)]

    def log_likelihood(self, posterior: "Dataset") -> dict[str, "Dataset"]:
        """Log densities of observations. Entries that an `obs_mask` leaves out are left out here too."""
        self._check_data()
        sites = self._model.sites

        def log_densities(values: dict[str, jax.Array]) -> dict[str, jax.Array]:
            found = self._model.sites_with(values)
            return {name: found[name]["fn"].log_prob(found[name]["value"]) for name in self._observed}

        arrays = self._over_draws(log_densities, self._latent(posterior), posterior)
        for name in self._observed:
            present = observed_entries(name, sites)
            if present is not None:
                event = sites[name]["fn"].event_dim
                batch = present.reshape(*present.shape[: present.ndim - event], -1)[..., 0] if event else present
                arrays[name] = arrays[name][:, :, batch]
        dims = {name: self._dims[name][: arrays[name].ndim - 2] for name in arrays if name in self._dims}
        return {"log_likelihood": dataset_of("log_likelihood", arrays, dims, _labels(posterior), {})}

    def predict(self, posterior: "Dataset", seed: int, data: Mapping[str, Any] | None) -> dict[str, "Dataset"]:
        """Data drawn at every draw of the posterior."""
        self._check_data()
        arguments = (self._args, self._kwargs) if data is None else self._with(data)
        draws = posterior.sizes["chain"] * posterior.sizes["draw"]

        def drawn(row: tuple[Any, dict[str, jax.Array]]) -> dict[str, jax.Array]:
            key, values = row
            return self._data_of(self._trace(key, values, arguments))

        rows = (_keys(seed, draws), self._latent(posterior))
        arrays = self._over_draws(drawn, rows, posterior)
        if data is None:
            return {"posterior_predictive": self._group("posterior_predictive", arrays, posterior)}
        constants = {name: np.asarray(value) for name, value in data.items() if value is not None}
        return {
            "predictions": self._group("predictions", arrays, posterior),
            "predictions_constant_data": dataset_of("predictions_constant_data", constants, {}, {}, {}),
        }

    def prior(self, draws: int, seed: int) -> dict[str, "Dataset"]:
        """Variables and data drawn from the model alone, as one chain."""

        def drawn(key: Any) -> tuple[dict[str, jax.Array], dict[str, jax.Array]]:
            sites = self._trace(key, {}, (self._args, self._kwargs))
            made = self._data_of(sites)
            latent = {
                name: site["value"] for name, site in sites.items()
                if self._model.is_in_results(site) and name not in self._observed and name not in made
            }  # fmt: skip
            return latent, made

        with _said("draw from its prior"):
            latent, made = map_rows(drawn, _keys(seed, draws))
        groups = {"prior": latent, "prior_predictive": made}
        return {
            name: dataset_of(name, {key: value[None] for key, value in arrays.items()}, self._dims, {}, {})
            for name, arrays in groups.items()
            if arrays
        }

    def _check_data(self) -> None:
        if not self._observed:
            raise ModelError("The model has no observed site, so there is no data to draw or to evaluate.")

    def _trace(self, key: Any, values: Mapping[str, Any], arguments: Arguments) -> dict[str, Any]:
        """All sites at these values, with data and all other sites drawn."""
        model = _Unconditioned(handlers.substitute(self._model.function, data=values))
        traced = handlers.trace(handlers.seed(model, jax.random.wrap_key_data(key)))
        args, kwargs = arguments
        return dict(traced.get_trace(*args, **kwargs))

    def _data_of(self, sites: Mapping[str, Mapping[str, Any]]) -> dict[str, jax.Array]:
        """The data that was drawn, by the user's names."""
        made = {}
        for name in self._observed:
            given = data_name(name, self._model.sites)
            site = sites.get(given, sites.get(name))
            if site is None:
                raise ModelError(f"The model has no site {given!r} with these arguments.")
            made[given] = site["value"]
        return made

    def _with(self, data: Mapping[str, Any]) -> Arguments:
        """The arguments with others for some of them."""
        bound = inspect.signature(self._function).bind(*self._args, **self._kwargs)
        parameters = bound.signature.parameters
        others = next((name for name, kind in parameters.items() if kind.kind is kind.VAR_KEYWORD), None)
        unknown = [name for name in data if name not in parameters]
        if unknown and others is None:
            raise SettingError(f"data names {unknown}, but the arguments of the model are {list(parameters)}.")
        bound.arguments.update({name: value for name, value in data.items() if name in parameters})
        if others is not None:
            bound.arguments[others] = bound.arguments.get(others, {}) | {name: data[name] for name in unknown}
        return bound.args, bound.kwargs

    def _latent(self, posterior: "Dataset") -> dict[str, np.ndarray]:
        """Values of the latent sites, a row for each draw."""
        arrays = {
            name: np.asarray(posterior[name].transpose("chain", "draw", ...)) for name in self._model.layout.names
        }
        return {name: array.reshape(-1, *array.shape[2:]) for name, array in arrays.items()}

    def _over_draws(self, function: Callable[..., Any], rows: Any, posterior: "Dataset") -> dict[str, np.ndarray]:
        """A function of one draw at all draws, with leading axes (chain, draw)."""
        shape = posterior.sizes["chain"], posterior.sizes["draw"]
        with _said("be evaluated at these draws"):
            made: dict[str, np.ndarray] = map_rows(function, rows)
        return {name: array.reshape(*shape, *array.shape[1:]) for name, array in made.items()}

    def _group(self, name: str, arrays: Mapping[str, Any], posterior: "Dataset") -> "Dataset":
        return dataset_of(name, arrays, self._dims, _labels(posterior), {})


def _labels(posterior: "Dataset") -> dict[str, list[Any]]:
    """Labels along the dimensions of a posterior other than chain and draw."""
    return {str(dim): list(posterior[dim].values) for dim in posterior.dims if dim not in ("chain", "draw")}


def _keys(seed: int, count: int) -> np.ndarray:
    """Randomness of each draw, as numbers."""
    return np.asarray(jax.random.key_data(jax.random.split(jax.random.key(seed), count)))


@contextmanager
def _said(what: str) -> Iterator[None]:
    """Says in words of ours what a model cannot do."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"The model cannot {what}: {type(error).__name__}: {error}") from error
