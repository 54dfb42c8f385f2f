"""Starting points by name, in the values of a model's variables."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
import xarray as xr
from helpers import slow_but

import mongepatch as mp

STILL = {
    "metric": mp.Euclidean(), "trajectory": mp.Static(1), "step_size": 1e-9, "warmup": 0, "draws": 1, "chains": 3,
    "init_spread": 0.0, "progress": False,
}  # fmt: skip
VALUES = {"mu": 1.5, "tau": 0.5, "theta": np.array([1.0, 2.0]), "high": 2.5}


def model():
    mu = numpyro.sample("mu", dist.Normal(0, 1))
    tau = numpyro.sample("tau", dist.HalfNormal(1))
    numpyro.sample("theta", dist.Normal(mu, tau).expand([2]).to_event(1))
    numpyro.sample("high", dist.Uniform(mu, mu + 2))  # whose bounds another variable moves
    numpyro.deterministic("twice", 2 * mu)


@pytest.fixture(scope="module")
def target():
    return mp.from_numpyro(model)


def start(target, init, **options):
    return mp.sample(target, init, **{**STILL, **options})["posterior"].isel(draw=0)


@pytest.mark.parametrize("whiten", slow_but([False, True], False))
def test_values_are_those_of_the_variables(target, whiten):
    found = start(target, VALUES, whiten=whiten)
    for name, value in VALUES.items():
        np.testing.assert_allclose(found[name], np.broadcast_to(value, found[name].shape), rtol=1e-6)


def test_some_variables_may_be_given(target):
    found = start(target, {"tau": 0.5, "high": 0.0, "mu": -0.5})
    np.testing.assert_allclose(found["tau"], 0.5, rtol=1e-6)
    np.testing.assert_allclose(found["high"], 0.0, atol=1e-6)
    assert len(np.unique(found["theta"])) == 6
    around = start(target, {"tau": 0.5}, init_spread=0.1)["tau"]
    assert len(np.unique(around)) == 3
    assert (np.abs(np.log(around / 0.5)) < 0.1 + 1e-6).all()
    each = start(target, {"tau": np.array([0.5, 1.0, 2.0])}, init_per_chain=True)
    np.testing.assert_allclose(each["tau"], [0.5, 1.0, 2.0], rtol=1e-6)


def test_a_draw_of_a_result_is_a_starting_point(target):
    tree = mp.sample(target, **{**STILL, "step_size": 0.1, "draws": 3})
    one = tree["posterior"].isel(chain=1, draw=2)
    found = start(target, one)
    np.testing.assert_allclose(found["theta"], np.broadcast_to(one["theta"], (3, 2)), rtol=1e-6)
    last = tree["posterior"].isel(draw=-1).to_dataset()
    found = start(target, last, init_per_chain=True)
    xr.testing.assert_allclose(found.to_dataset().drop_vars("draw"), last.drop_vars("draw"), rtol=1e-6)
    with pytest.raises(mp.ParameterError, match="holds many draws"):
        start(target, tree["posterior"])
    with pytest.raises(mp.ParameterError, match="without variables"):
        start(target, tree)
    bare = mp.sample(lambda x: -x @ x, jnp.ones(2), **STILL)["posterior"].isel(chain=0, draw=0)
    np.testing.assert_allclose(start(lambda x: -x @ x, bare)["x"], 1.0, atol=1e-6)
    pair = mp.Target.from_density(lambda p: -(p[0] ** 2) - p[1] @ p[1], [0.0, jnp.zeros(2)])
    draw = xr.Dataset({"x_0": 1.0, "x_1": ("x_1_dim_0", [2.0, 3.0])})
    np.testing.assert_allclose(start(pair, draw)["x_1"], [[2.0, 3.0]] * 3, atol=1e-6)


def test_unconstrained_values_by_a_flag_or_as_a_vector(target):
    raw = {"mu": 0.0, "tau": np.log(0.5), "theta": np.zeros(2), "high": 0.0}
    for init, options in ((raw, {"init_unconstrained": True}), (jnp.array([0.0, np.log(0.5), 0.0, 0.0, 0.0]), {})):
        found = start(target, init, **options)
        np.testing.assert_allclose(found["tau"], 0.5, rtol=1e-6)
        np.testing.assert_allclose(found["high"], 1.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ({"tau": -1.0}, "'tau' in init is outside its support"),
        ({**VALUES, "high": 9.0}, "'high' in init is outside its support"),
        ({"tow": 1.0}, r"init names \['tow'\], but the parameters are \['mu', 'tau', 'theta', 'high'\]"),
        ({"theta": np.zeros(3)}, r"'theta' in init must have the shape \(2,\); it has \(3,\)"),
        ({"mu": "text"}, "'mu' in init is not an array"),
    ],
)
def test_values_that_do_not_fit_are_told(target, init, message):
    with pytest.raises(mp.ParameterError, match=message):
        start(target, init)
