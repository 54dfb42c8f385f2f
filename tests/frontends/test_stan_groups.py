"""Generated quantities of a Stan program become the groups of a workflow, by their names."""

import numpy as np
import pytest
import xarray

import mongepatch as mp
from mongepatch.frontends.stan.generative import StanDraws, predictions_of

NAMES = ["mu", "log_lik", "log_lik_z", "y_rep", "z_new"]
DIMS = ("chain", "draw")


def posterior(*names):
    shape = (2, 5, 3)
    arrays = {name: ((*DIMS, f"{name}_dim_0"), np.random.default_rng(len(name)).normal(size=shape)) for name in names}
    return xarray.Dataset(arrays)


def test_names_say_what_generated_quantities_are():
    draws = StanDraws(NAMES, predictions_of(NAMES, {"z": "z_new"}))
    given = posterior(*NAMES)
    likelihood = draws.log_likelihood(given)["log_likelihood"]
    assert set(likelihood) == {"log_lik", "z"}
    np.testing.assert_array_equal(likelihood["z"], given["log_lik_z"])
    predicted = draws.predict(given, 0, None)["posterior_predictive"]
    assert {name: values.dims[2] for name, values in predicted.items()} == {"y": "y_dim_0", "z": "z_dim_0"}
    np.testing.assert_array_equal(predicted["y"], given["y_rep"])


def test_what_is_missing_is_told():
    with pytest.raises(mp.ModelError, match="no variable 'y_hat'; it has mu, log_lik"):
        predictions_of(NAMES, {"y": "y_hat"})
    plain = StanDraws(["mu"], {})
    with pytest.raises(mp.ModelError, match="no generated quantity log_lik"):
        plain.log_likelihood(posterior("mu"))
    with pytest.raises(mp.ModelError, match="such as y_rep"):
        plain.predict(posterior("mu"), 0, None)
    with pytest.raises(mp.ModelError, match="for its own arguments only"):
        plain.predict(posterior("mu"), 0, {"x": 1.0})
    with pytest.raises(mp.ModelError, match=r"no draws of its prior.*prior_only"):
        plain.prior(5, 0)
    with pytest.raises(mp.ParameterError, match=r"lacks \['log_lik'\]"):
        StanDraws(["mu", "log_lik"], {}).log_likelihood(posterior("mu"))
