"""Data and prior draws of a PyMC model, and the log likelihood of its data: PyMC's own functions on our draws."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pymc as pm

from mongepatch._groups import LIBRARY, dataset_of, group_of
from mongepatch.errors import ModelError
from mongepatch.frontends.pymc.results import of_groups

if TYPE_CHECKING:
    from xarray import Dataset


class PyMCDraws:
    """The groups of a result that a model makes: see `mongepatch.targets.generative`.

    Args:
        model: a PyMC model.
        constant_data: its data at the time of the draws. Where it has others later, PyMC draws anew what depends on it.
    """

    def __init__(self, model: Any, constant_data: Mapping[str, Any]) -> None:
        self._model, self._constant_data = model, constant_data

    def log_likelihood(self, posterior: "Dataset") -> dict[str, "Dataset"]:
        """`pymc.compute_log_likelihood`."""
        self._check_data()
        with _said("be evaluated at these draws"):
            dataset = pm.compute_log_likelihood(
                self._trace(posterior), model=self._model, extend_inferencedata=False, progressbar=False
            )
        return {"log_likelihood": dataset.assign_attrs(LIBRARY)}

    def predict(self, posterior: "Dataset", seed: int, data: Mapping[str, Any] | None) -> dict[str, "Dataset"]:
        """`pymc.sample_posterior_predictive`; with other data between two calls of `pymc.set_data`."""
        self._check_data()
        with _said("draw its data"), self._with(data or {}):
            found = pm.sample_posterior_predictive(
                self._trace(posterior),
                model=self._model,
                random_seed=seed,
                predictions=data is not None,
                progressbar=False,
            )
        names = ("posterior_predictive",) if data is None else ("predictions", "predictions_constant_data")
        return _groups(found, names)

    def prior(self, draws: int, seed: int) -> dict[str, "Dataset"]:
        """`pymc.sample_prior_predictive`."""
        with _said("draw from its prior"):
            found = pm.sample_prior_predictive(draws, model=self._model, random_seed=seed)
        return _groups(found, ("prior", "prior_predictive"))

    def _check_data(self) -> None:
        if not self._model.observed_RVs:
            raise ModelError("The model has no observed variable, so there is no data to draw or to evaluate.")

    def _trace(self, posterior: "Dataset") -> Any:
        """Draws as PyMC's functions take them."""
        groups = {"posterior": posterior}
        if self._constant_data:
            groups["constant_data"] = dataset_of("constant_data", self._constant_data, {}, {}, {})
        return of_groups(groups)

    @contextmanager
    def _with(self, data: Mapping[str, Any]) -> Iterator[None]:
        """Other values of `pm.Data` for a while."""
        before = {name: self._model[name].get_value() for name in data}
        try:
            pm.set_data(dict(data), model=self._model)
            yield
        finally:
            pm.set_data(before, model=self._model)


def _groups(found: Any, names: tuple[str, ...]) -> dict[str, "Dataset"]:
    """Those groups that there are."""
    there = found.groups() if callable(found.groups) else found.children
    return {name: group_of(found, name).assign_attrs(LIBRARY) for name in names if name in there}


@contextmanager
def _said(what: str) -> Iterator[None]:
    """Says in words of ours what a model cannot do."""
    try:
        yield
    except Exception as error:
        raise ModelError(f"The model cannot {what}: {type(error).__name__}: {error}") from error
