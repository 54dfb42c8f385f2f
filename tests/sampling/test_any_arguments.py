"""Any call of `sample` draws, or raises one of our errors."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

NOTHING = st.sampled_from([None, [], {}, ()])
JUNK = st.one_of(NOTHING, st.booleans(), st.integers(-5, 5), st.floats(), st.text(max_size=3))
"""Values that most arguments cannot have."""


def mostly(*good):
    """One of these, or now and then anything."""
    return st.one_of(*(st.just(value) for value in good), st.sampled_from(good), JUNK)


ARGUMENTS = {
    "draws": mostly(1, 7, np.int64(3)),
    "warmup": mostly(0, 1, 25),
    "chains": mostly(1, 2),
    "seed": mostly(0, 2**31, -1),
    "metric": mostly("euclidean", "monge", mp.Euclidean(), mp.Monge(0.5), "patch"),
    "trajectory": mostly("nuts", "static", mp.Static(2), mp.NUTS(3)),
    "step_size": mostly(None, 0.1, 1e-300, 1e300),
    "target_acceptance": mostly(None, 0.8, 1.0),
    "kernel": mostly("lmc", "mmala"),
    "scheme": mostly(None, "merged", "paper"),
    "init_spread": mostly(0.0, 1.0, 1e200),
    "init_per_chain": mostly(False),
    "whiten": mostly("auto", False, True),
    "keep": mostly(None, ["x"], ["y"]),
    "dims": mostly(None, {"x": ["place"]}, {"x": ["chain"]}),
    "coords": mostly(None, {"place": ["a", "b"]}),
    "save_warmup": mostly(False, True),
    "thin": mostly(1, 2),
    "until": mostly(None, mp.Until(ess=10)),
    "callback": mostly(None, lambda status: None),
    "residuals": mostly(None, lambda x: x),
}


FEW = st.lists(st.sampled_from(sorted(ARGUMENTS)), max_size=4, unique=True).flatmap(
    lambda names: st.fixed_dictionaries({name: ARGUMENTS[name] for name in names})
)
"""A few arguments at a time: of many, one is always wrong."""


@pytest.mark.slow
@hypothesis.given(FEW, mostly(jnp.zeros(2), np.zeros(2, np.float32), jnp.full(2, np.nan)))
@hypothesis.settings(max_examples=150, deadline=None, derandomize=True, database=None)
def test_any_call_samples_or_raises_one_of_our_errors(options, init):
    options = {"draws": 4, "warmup": 20, "chains": 2, **options, "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree = mp.sample(lambda x: -0.5 * (x**2).sum(), init, **options)
        except mp.MongepatchError:
            return
    assert tree["posterior"].sizes["draw"] >= 1
