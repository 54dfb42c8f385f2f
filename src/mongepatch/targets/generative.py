"""What a model can do besides its density: draw data, draw from its prior, and say how probable each datum is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from mongepatch._extras import require
from mongepatch._groups import dataset_of, group_of, with_groups
from mongepatch.errors import ModelError, ParameterError
from mongepatch.validation import whole_number

if TYPE_CHECKING:
    from xarray import Dataset

    from mongepatch.targets.base import Target


class GenerativeModel(Protocol):
    """A model of another library, as a source of groups of a result. Each method returns groups by name."""

    def log_likelihood(self, posterior: "Dataset") -> dict[str, "Dataset"]:
        """The group `log_likelihood`: log densities of every observation at every draw."""

    def predict(self, posterior: "Dataset", seed: int, data: Mapping[str, Any] | None) -> dict[str, "Dataset"]:
        """The group `posterior_predictive`: data that is drawn for every draw; `predictions` for other data."""

    def prior(self, draws: int, seed: int) -> dict[str, "Dataset"]:
        """The groups `prior` and `prior_predictive`."""


def add_log_likelihood(target: "Target", tree: Any) -> Any:
    """The tree with the group `log_likelihood`."""
    model = check_generative(target, "log_likelihood")
    return with_groups(tree, model.log_likelihood(_posterior(target, tree)))


def add_predictions(target: "Target", tree: Any, seed: int, data: Mapping[str, Any] | None) -> Any:
    """The tree with the group `posterior_predictive`; with `predictions` where there are other data."""
    model = check_generative(target, "predict")
    return with_groups(tree, model.predict(_posterior(target, tree), whole_number("seed", seed, least=0), data))


def add_prior(target: "Target", tree: Any, draws: int, seed: int) -> Any:
    """A tree, or a new one, with the groups `prior` and `prior_predictive`."""
    model = check_generative(target, "prior_predictive")
    groups = model.prior(whole_number("draws", draws), whole_number("seed", seed, least=0))
    if tree is not None:
        return with_groups(tree, groups)
    return _new_tree(target, groups)


def _new_tree(target: "Target", groups: Mapping[str, "Dataset"]) -> Any:
    """A tree with groups and the data of a target."""
    xarray = require("xarray", "sample", "A result")
    data = {"observed_data": target.observed_data, "constant_data": target.constant_data}
    parts = {name: dataset_of(name, group, target.dims, target.coords, {}) for name, group in data.items() if group}
    return xarray.DataTree.from_dict({**groups, **parts})


def check_generative(target: "Target", what: str) -> GenerativeModel:
    """The model of a target; raise where the target is a density alone."""
    if target.generative is None:
        raise ModelError(
            f"{what} needs a model that can draw data, and this target is a log density alone. Make the target by "
            "mp.from_numpyro, mp.from_pymc or mp.from_stan."
        )
    return target.generative


def _posterior(target: "Target", tree: Any) -> "Dataset":
    """The draws of a tree; raise where parameters of the target are missing."""
    posterior = group_of(tree, "posterior")
    # A Stan model takes what it needs from its variables, and its coordinates are none of them.
    needed = [name for name in target.layout.names if name in target.variables]
    missing = [name for name in needed if name not in posterior]
    if missing:
        raise ParameterError(
            f"The posterior of the tree lacks {missing}, on which its data depends. Sample without keep, or "
            "with log_likelihood=True where that is what you need."
        )
    return posterior
