"""Groups of a result from the generated quantities of a Stan program, by the names that Stan's users give them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mongepatch.errors import ModelError, ParameterError

if TYPE_CHECKING:
    from xarray import Dataset

LOG_LIKELIHOOD, REPLICATED = "log_lik", "_rep"
"""`log_lik`, or `log_lik_y` for data `y`, is a log likelihood; `y_rep` is what `y` could have been."""


def predictions_of(names: Sequence[str], given: Mapping[str, str]) -> dict[str, str]:
    """Which generated quantities are data that could have been observed, by the name of the data.

    Args:
        names: of all variables of the program.
        given: those that the user names, such as {"y": "y_hat"}.
    """
    missing = [name for name in given.values() if name not in names]
    if missing:
        raise ModelError(f"The Stan program has no variable {missing[0]!r}; it has {', '.join(names)}.")
    found = {name.removesuffix(REPLICATED): name for name in names if name.endswith(REPLICATED)}
    return found | dict(given)


class StanDraws:
    """The groups that a program's generated quantities hold: see `mongepatch.targets.generative`.

    Args:
        names: of all variables of the program.
        predictions: those that are drawn data, by the name of the data.
    """

    def __init__(self, names: Sequence[str], predictions: Mapping[str, str]) -> None:
        self._predictions = dict(predictions)
        self._log_likelihoods = {
            name.removeprefix(LOG_LIKELIHOOD).lstrip("_") or name: name
            for name in names
            if name == LOG_LIKELIHOOD or name.startswith(f"{LOG_LIKELIHOOD}_")
        }

    def log_likelihood(self, posterior: "Dataset") -> dict[str, "Dataset"]:
        """The variables `log_lik`, or `log_lik_y` as `y`."""
        if not self._log_likelihoods:
            raise ModelError(
                "The Stan program has no generated quantity log_lik, from which the group log_likelihood is made: "
                "generated quantities { vector[N] log_lik; for (n in 1:N) log_lik[n] = normal_lpdf(y[n] | …); }"
            )
        return {"log_likelihood": _renamed(posterior, self._log_likelihoods)}

    def predict(self, posterior: "Dataset", seed: int, data: Mapping[str, Any] | None) -> dict[str, "Dataset"]:
        """The variables `y_rep`, as `y`. Stan drew them while it sampled, so that there is no seed to give."""
        if data is not None:
            raise ModelError("A Stan program draws data for its own arguments only: make another target for others.")
        if not self._predictions:
            raise ModelError(
                "The Stan program has no generated quantity such as y_rep, from which the group posterior_predictive "
                "is made: generated quantities { array[N] real y_rep = normal_rng(…); }. Or name one: "
                'mp.from_stan(…, predictions={"y": "y_new"}).'
            )
        return {"posterior_predictive": _renamed(posterior, self._predictions)}

    def prior(self, draws: int, seed: int) -> dict[str, "Dataset"]:
        """Stan has no draws of a prior."""
        raise ModelError(
            "A Stan program has no draws of its prior: its blocks do not tell the prior from the likelihood. Guard the "
            "likelihood, data { int<lower=0, upper=1> prior_only; } and model { … if (!prior_only) y ~ …; }, and "
            'sample it: prior = mp.sample(mp.from_stan(code, data | {"prior_only": 1})). Its groups posterior and '
            'posterior_predictive, by y_rep, are then the prior\'s: tree["prior"] = prior["posterior"].'
        )


def _renamed(posterior: "Dataset", names: Mapping[str, str]) -> "Dataset":
    missing = [name for name in names.values() if name not in posterior]
    if missing:
        raise ParameterError(f"The posterior of the tree lacks {missing}: sample without keep, or keep these too.")
    dims: dict[Any, str] = {}
    for new, old in names.items():
        dims |= {dim: str(dim).replace(old, new, 1) for dim in posterior[old].dims if str(dim).startswith(old)}
    return posterior[list(names.values())].rename({old: new for new, old in names.items()} | dims)
