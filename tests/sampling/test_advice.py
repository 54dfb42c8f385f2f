"""What a run in trouble is told: what would help this one."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import mongepatch as mp
from mongepatch.frontends.stan.source import parameters_of
from mongepatch.kernels import Failure
from mongepatch.sampling.advice import Situation, for_geometry, for_mixing, for_step_size
from mongepatch.sampling.diagnostics import diagnose
from mongepatch.sampling.output import tree_of
from mongepatch.targets import Target

RNG = np.random.default_rng(0)


def result(draws, energy=None, failure=0, target=None, unstable=0.0):
    """A run with these draws [chain, draw] of one parameter."""
    stats = {
        "lp": -0.5 * draws**2,
        "energy": RNG.normal(size=draws.shape) if energy is None else energy,
        "accepted": np.ones(draws.shape, bool),
        "failure": np.full(draws.shape, failure),
    }
    target = target or Target.from_density(lambda x: -0.5 * x**2, 0.0)
    return tree_of({"posterior": {"x": draws}, "sample_stats": stats}, target, {"unstable_fraction": unstable})


WELL = RNG.normal(size=(4, 1000))
SLOW = WELL.cumsum(axis=1) / 100


@pytest.mark.parametrize(
    ("situation", "advice"),
    [
        (Situation("Stan"), "mp.from_numpyro or mp.from_pymc"),
        (Situation("Stan"), "non-centred where it is centred, centred where it is non-centred"),
        (Situation("NumPyro", True, metric="Euclidean", given=frozenset({"metric"})), "which metric= leaves unused"),
        (Situation("NumPyro", True, metric="Monge", given=frozenset({"metric"})), "which metric= leaves unused"),
        (Situation("PyMC", True, metric="Euclidean", given=frozenset({"whiten"})), "leave out whiten=False"),
        (Situation("NumPyro", True, metric="Euclidean"), 'metric="patch"'),
        (Situation("NumPyro", True, whitened=True, metric="Euclidean"), "follow the residuals of the model already"),
        (Situation("density", metric="Euclidean"), "mp.residuals_of"),
    ],
)
def test_a_low_bfmi_alone_names_what_helps_there(situation, advice):
    paragraph = diagnose(result(WELL, energy=SLOW), situation)
    assert "BFMI 0.0" in paragraph
    assert advice in paragraph
    assert "more draws alone do not show" in paragraph


TAU = np.exp(RNG.normal(size=(4, 1000)))
NOISE = RNG.normal(size=(4, 1000, 8))


@pytest.mark.parametrize(
    ("effects", "told"),
    [
        (3.0 + TAU[..., None] * NOISE, "write 'theta', whose spread follows 'tau', in its non-centred form"),
        (NOISE / TAU[..., None], "write 'theta' in its centred form"),
        (NOISE, "see whether its priors allow values far too large"),
    ],
)
def test_a_stan_program_is_never_told_to_take_the_form_that_it_has(effects, told):
    computed = 3.0 + TAU[..., None] * NOISE  # a transformed parameter, which shows no form
    posterior = {"tau": TAU, "theta": effects, "x": computed}
    target = Target.from_density(lambda p: 0.0, {"tau": 1.0, "theta": jnp.zeros(8), "x": jnp.zeros(8)})
    stats = {name: values.to_numpy() for name, values in result(WELL, energy=SLOW)["sample_stats"].items()}
    tree = tree_of({"posterior": posterior, "sample_stats": stats}, target, {"unstable_fraction": 0.0})
    paragraph = diagnose(tree, Situation("Stan", parameters=("tau", "theta")))
    assert told in paragraph
    assert paragraph.count("centred form") == ("centred form" in told)


@pytest.mark.parametrize(
    ("code", "parameters"),
    [
        ("data { int J; }\nparameters { real<lower=0> tau; // theta\n vector[J] z; }\n"
         "transformed parameters { vector[J] theta = tau * z; }", ("tau", "z")),
        ("transformed\n parameters { vector[J] theta; }", ()),
        ("#include model.stan", ()),
    ],
)  # fmt: skip
def test_parameters_of_a_stan_program_are_those_that_it_declares(code, parameters):
    assert parameters_of(code, ["tau", "z", "theta"]) == parameters


def test_who_has_whitened_coordinates_is_not_told_to_write_the_non_centred_form():
    assert "centred" not in for_geometry(Situation("NumPyro", True, whitened=True, metric="Euclidean"))


@pytest.mark.parametrize("metric", ["Euclidean", "Patch"])
def test_alpha_is_for_the_monge_metric_alone(metric):
    given = frozenset({"metric", "trajectory", "step_size"})
    assert "alpha" not in for_mixing(Situation(metric=metric, given=given))
    assert "alpha" in for_mixing(Situation(metric="Monge", given=given))
    assert "inverse_mass" not in for_mixing(Situation(metric=metric))
    assert "target_acceptance" not in for_step_size(Situation(given=given))


def test_advice_is_given_once():
    paragraph = diagnose(result(WELL, energy=SLOW, failure=int(Failure.ENERGY), unstable=0.1), Situation("Stan"))
    assert paragraph.count("A Stan program does not tell its residuals") == 1
    assert diagnose(result(WELL), Situation("Stan")) == ""


def test_r_hat_is_told_above_a_hundredth():
    shifted = WELL + np.array([[-0.1], [0.1], [-0.15], [0.15]])
    paragraph = diagnose(result(shifted))
    assert "The chains do not agree well enough: R̂ of 'x' is 1.01" in paragraph
    assert "above 1.01" in paragraph
    assert "draws=2000" in paragraph
    assert "The chains do not agree: R̂ of 'x' is 1." in diagnose(result(WELL + np.arange(4.0)[:, None]))


def test_draws_that_go_away_for_ever_are_told():
    away = np.geomspace(1, 1e12, 4000).reshape(4, 1000)
    assert "Draws of 'x' reach 1e+12: the density may be improper" in diagnose(result(away))
    assert "improper" not in diagnose(result(1e12 * WELL))


def test_parameters_that_left_the_support_are_named():
    assert "whose draws are all positive: 'x'" in diagnose(result(np.abs(WELL), failure=int(Failure.NOT_FINITE)))


def test_a_bound_is_told_first_and_alone():
    codes = np.zeros(WELL.shape, int)
    codes[:, :100], codes[:, 100:103] = int(Failure.NOT_FINITE), int(Failure.ENERGY)
    slow = result(np.abs(WELL), energy=SLOW, failure=codes)
    paragraph = diagnose(slow, Situation(metric="Euclidean"))
    assert paragraph.startswith("400 of 4,000 trajectories met a density that is NaN or infinite: they left its")
    assert "sample t = log(s)" in paragraph
    assert "12 more diverged, as trajectories near a bound do." in paragraph
    for word in ("step size", "residuals", "centred", "modes", "BFMI"):
        assert word not in paragraph
    assert "BFMI" in diagnose(slow, Situation("NumPyro"))  # whose variables are transformed already
    codes[:, 100:300] = int(Failure.ENERGY)
    assert "1,200 of 4,000 trajectories diverged: the step size" in diagnose(result(WELL, failure=codes))


def test_chains_that_hardly_move_are_told():
    standing = 1e-7 * WELL.cumsum(axis=1) + np.arange(4.0)[:, None]
    situation = Situation(metric="Fisher", kernel="explicit-rmhmc", given=frozenset({"metric"}))
    paragraph = diagnose(result(standing, energy=SLOW, failure=int(Failure.ENERGY)), situation)
    assert paragraph.startswith("4 of 4 chains hardly move")
    assert "a step_size of your own, such as 0.1; or mp.kernels.ExplicitRMHMC(stiffness=...)" in paragraph
    assert 'kernel="lmc"' in paragraph
    for word in ("R̂", "inverse_mass", "too long", "residuals"):
        assert word not in paragraph
    one = np.concatenate([WELL[:3], standing[:1]])
    assert "1 of 4 chains hardly move" in diagnose(result(one))
    mixing = np.stack([np.convolve(chain, 0.9 ** np.arange(100.0), "same") for chain in WELL])
    for own in (WELL, mixing):  # in modes that are far apart
        told = diagnose(result(1e-4 * own + np.arange(4.0)[:, None]))
        assert "hardly move" not in told
        assert "R̂" in told
    many = np.concatenate([standing] * 32)
    assert "64 of 64 chains that were looked at hardly move" in diagnose(result(many))


def test_an_inverse_mass_is_for_metrics_that_have_one():
    given = frozenset({"metric", "trajectory"})
    assert "inverse_mass" in for_mixing(Situation(metric="Monge", given=given))
    assert "inverse_mass" not in for_mixing(Situation(metric="Fisher", given=given))


def test_a_model_in_the_euclidean_metric_is_told_of_its_residuals():
    def centred():
        v = numpyro.sample("v", dist.Normal(0.0, 3.0))
        with numpyro.plate("group", 9):
            numpyro.sample("x", dist.Normal(0.0, jnp.exp(v / 2)))

    settings = {"metric": mp.Euclidean(), "trajectory": mp.Static(8), "step_size": 0.5, "warmup": 0, "draws": 150}
    with pytest.warns(mp.SamplingWarning, match="The model has residuals, which metric= leaves unused"):
        mp.sample(mp.from_numpyro(centred), **settings, progress=False)
