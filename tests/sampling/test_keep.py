"""Variables of the result that are kept, and those that are not."""

import sys
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp
from mongepatch.sampling import output
from mongepatch.sampling.diagnostics import diagnose
from mongepatch.sampling.variables import kept_columns, variables

INIT = {"mu": 0.0, "tau": jnp.zeros(2), "theta": jnp.zeros(3)}
NAMES = {"dims": {"tau": ["side"], "theta": ["school"]}, "coords": {"school": ["a", "b", "c"], "side": [0, 1]}}
SETTINGS = {
    "metric": mp.Euclidean(), "trajectory": mp.Static(5), "step_size": 0.3, "draws": 20, "warmup": 5, "chains": 3,
    "progress": False,
}  # fmt: skip


def normal(parameters):
    return sum(-0.5 * (leaf**2).sum() for leaf in jax.tree.leaves(parameters))


def constrained():
    """A target whose variables are not the parts of its flat vector."""
    target = mp.Target.from_density(lambda x: -0.5 * x @ x, jnp.zeros(3))
    return replace(target, constrain=lambda x: {"scale": jnp.exp(x[:1]), "location": x[1:], "sum": x.sum()})


@pytest.mark.parametrize("keep", [["theta"], ("theta", "mu"), {"tau"}, ["tau", "theta", "mu"]])
def test_what_is_kept_is_as_if_all_were(keep):
    whole = mp.sample(normal, INIT, **SETTINGS, **NAMES, save_warmup=True)
    tree = mp.sample(normal, INIT, **SETTINGS, **NAMES, save_warmup=True, keep=keep)
    for group in ("posterior", "warmup_posterior"):
        assert list(tree[group].data_vars) == [name for name in INIT if name in keep]
        for name in keep:
            assert tree[group][name].identical(whole[group][name])
    assert tree["sample_stats"].to_dataset().equals(whole["sample_stats"].to_dataset())


def test_what_is_not_kept_is_not_copied_from_the_device(monkeypatch):
    seen = []

    def spy(record, *arguments):
        seen.append(record.position.shape)
        return to_datatree(record, *arguments)

    to_datatree = output.to_datatree
    monkeypatch.setattr(sys.modules["mongepatch.sampling.run"], "to_datatree", spy)
    mp.sample(normal, INIT, **SETTINGS, keep=["mu", "theta"])
    assert seen == [(3, 20, 4)]


def test_variables_that_a_target_makes_are_kept_by_name():
    options = {**SETTINGS, "init_spread": 0.1}
    whole = mp.sample(constrained(), jnp.zeros(3), **options)
    tree = mp.sample(constrained(), jnp.zeros(3), **options, keep=["scale"])
    assert list(tree["posterior"].data_vars) == ["scale"]
    np.testing.assert_array_equal(tree["posterior"]["scale"], whole["posterior"]["scale"])
    assert kept_columns(constrained(), {"scale"}).tolist() == [0]
    assert kept_columns(constrained(), {"scale", "sum"}) is None
    assert set(variables(np.zeros((2, 5, 3)), constrained(), {"sum", "location"})) == {"sum", "location"}


def test_what_is_not_kept_is_not_diagnosed():
    """Two modes of mu, far apart: the log density is the same in both."""
    starts = {"mu": jnp.array([-10.0, 10.0]), "nu": jnp.zeros(2)}
    options = {**SETTINGS, "chains": 2, "draws": 200, "init_per_chain": True}

    def density(p):
        return -0.5 * ((jnp.abs(p["mu"]) - 10.0) ** 2 + p["nu"] ** 2)

    with pytest.warns(mp.SamplingWarning, match="R̂ of 'mu'"):
        mp.sample(density, starts, **options)
    assert "'mu'" not in diagnose(mp.sample(density, starts, **options, keep=["nu"]))


@pytest.mark.parametrize("keep", [["tow"], "tau", [], 3, ["tau", "tow"]])
def test_unknown_names_are_an_error_that_lists_those_there_are(keep):
    with pytest.raises(mp.SettingError, match=r"keep .*\['mu', 'tau', 'theta'\]"):
        mp.sample(normal, INIT, **SETTINGS, keep=keep)


def test_a_variable_that_never_changes_may_be_kept_alone():
    target = mp.Target.from_density(lambda x: -0.5 * x @ x, jnp.zeros(3))
    target = replace(target, constrain=lambda x: {"x": x, "one": jnp.ones(())})
    tree = mp.sample(target, jnp.zeros(3), **{**SETTINGS, "draws": 2000, "step_size": 0.5}, keep=["one"])
    assert (tree["posterior"]["one"] == 1).all()


def test_variables_that_are_made_on_the_host_are_made_of_all_draws_at_once():
    class Doubled:
        def __call__(self, x):
            return {"twice": 2 * x, "first": x[0]}

        def at_rows(self, rows):
            assert isinstance(rows, np.ndarray)
            return {"twice": 2 * rows, "first": rows[:, 0]}

    target = replace(mp.Target.from_density(lambda x: -0.5 * x @ x, jnp.zeros(3)), constrain=Doubled())
    positions = np.arange(24.0).reshape(2, 4, 3)
    made = variables(positions, target)
    np.testing.assert_array_equal(made["twice"], 2 * positions)
    np.testing.assert_array_equal(made["first"], positions[..., 0])
    assert set(variables(positions, target, ["first"])) == {"first"}
