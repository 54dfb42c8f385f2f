"""Stan models as targets: programs, data, names, draws, and errors."""

import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from trilingual import MODELS, SIGMA, Y
from trilingual import STAN_SCHOOLS as SCHOOLS

pytest.importorskip("httpstan", reason='Stan models need httpstan: pip install "mongepatch[stan]"')

from helpers import Known, largest_deviation

import mongepatch as mp
from mongepatch.frontends.stan import bridgestan_model
from mongepatch.frontends.stan.bridgestan_model import BridgeStanModel
from mongepatch.frontends.stan.build import target_of
from mongepatch.frontends.stan.httpstan_model import HTTPStanModel
from mongepatch.frontends.stan.source import program_from

SCHOOLS_DATA = MODELS["schools"].data
NONCENTERED = """
data { int<lower=0> J; array[J] real y; array[J] real<lower=0> sigma; }
parameters { real mu; real<lower=0> tau; vector[J] z; }
transformed parameters { vector[J] theta = mu + tau * z; }
model { mu ~ normal(0, 5); tau ~ cauchy(0, 5); z ~ normal(0, 1); y ~ normal(theta, sigma); }
generated quantities {
  array[J] real y_rep = normal_rng(theta, sigma);
  matrix[2, 3] table;
  for (i in 1:2) for (j in 1:3) table[i, j] = 10 * i + j;
}
"""


def test_generated_quantities_are_seeded_and_matrices_are_the_right_way_round():
    target, again, other = (mp.from_stan(NONCENTERED, SCHOOLS_DATA, seed=seed) for seed in (1, 1, 2))
    x = np.random.default_rng(0).normal(size=(2000, 10))
    at = [jax.vmap(t.constrain)(x) for t in (target, again, other)]
    np.testing.assert_array_equal(at[0]["table"][0], [[11, 12, 13], [21, 22, 23]])
    np.testing.assert_array_equal(at[0]["y_rep"], at[1]["y_rep"])
    np.testing.assert_array_equal(at[0]["y_rep"][7], target.constrain(jnp.asarray(x[7]))["y_rep"])
    assert (np.asarray(at[0]["y_rep"]) != np.asarray(at[2]["y_rep"])).all()
    noise = (np.asarray(at[0]["y_rep"]) - at[0]["theta"]) / SIGMA
    assert abs(noise.mean()) < 4 / np.sqrt(noise.size)
    assert abs(noise.std() - 1) < 4 / np.sqrt(2 * noise.size)
    assert abs(np.corrcoef(noise[:-1, 0], noise[1:, 0])[0, 1]) < 4 / np.sqrt(len(noise))


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # a short run
def test_generated_quantities_are_the_groups_of_a_workflow():
    code = NONCENTERED.replace(
        "matrix[2, 3] table;",
        "vector[J] log_lik; for (j in 1:J) log_lik[j] = normal_lpdf(y[j] | theta[j], sigma[j]);\n  matrix[2, 3] table;",
    )
    target = mp.from_stan(code, SCHOOLS_DATA)
    tree = mp.sample(target, metric="euclidean", trajectory="nuts", warmup=300, draws=200, progress=False)
    whole = target.predict(target.log_likelihood(tree))
    residuals = (np.asarray(Y) - whole["posterior"]["theta"].values) / SIGMA
    expected = -0.5 * residuals**2 - np.log(SIGMA) - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(whole["log_likelihood"]["log_lik"].values, expected, rtol=1e-6)
    assert whole["posterior_predictive"]["y"].shape == whole["posterior"]["theta"].shape
    assert list(whole["observed_data"].data_vars) == ["y"]
    assert pytest.importorskip("arviz_stats").loo(whole).elpd < 0


def test_a_centred_hierarchy_is_told_to_be_written_non_centred_and_a_non_centred_one_is_not():
    with pytest.warns(mp.SamplingWarning, match=r"'theta', whose spread follows 'tau', in its non-centred form"):
        mp.sample(mp.from_stan(SCHOOLS, SCHOOLS_DATA), progress=False)
    target = mp.from_stan(NONCENTERED, SCHOOLS_DATA)
    assert target.parameters == ("mu", "tau", "z")
    with pytest.warns(mp.SamplingWarning) as told:
        mp.sample(target, step_size=1.2, trajectory=mp.NUTS(), warmup=300, draws=200, progress=False)
    assert "diverged" in str(told[0].message)
    assert "non-centred form" not in str(told[0].message)


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # a short run
def test_draws_of_a_prior_are_a_run_without_the_likelihood():
    code = SCHOOLS.replace("data {", "data { int<lower=0, upper=1> prior_only;").replace("y ~", "if (!prior_only) y ~")
    target = mp.from_stan(code, SCHOOLS_DATA | {"prior_only": 0})
    with pytest.raises(mp.ModelError, match="prior_only"):
        target.prior_predictive()
    prior, tree = (
        mp.sample(mp.from_stan(code, SCHOOLS_DATA | {"prior_only": only}), warmup=300, draws=200, progress=False)
        for only in (1, 0)
    )
    tree["prior"] = prior["posterior"]
    assert tree["prior"]["mu"].std() > 1.2 * tree["posterior"]["mu"].std()


def test_programs_and_data_may_be_files(tmp_path, monkeypatch):
    (tmp_path / "schools.stan").write_text(SCHOOLS)
    included = SCHOOLS.replace("mu ~ normal(0, 5);", "#include prior.stan\n")
    (tmp_path / "included.stan").write_text(included)
    (tmp_path / "prior.stan").write_text("mu ~ normal(0, 5);\n")
    (tmp_path / "data.json").write_text(
        json.dumps({name: np.asarray(value).tolist() for name, value in SCHOOLS_DATA.items()})
    )
    x = jnp.full(10, 0.3)
    expected = mp.from_stan(SCHOOLS, SCHOOLS_DATA)(x)
    assert mp.from_stan(tmp_path / "schools.stan", tmp_path / "data.json")(x) == expected
    assert mp.from_stan(str(tmp_path / "schools.stan"), str(tmp_path / "data.json"))(x) == expected
    with monkeypatch.context() as patch:
        patch.setenv("CXX", "no-such-compiler")  # a program with includes has to be compiled
        with pytest.raises(mp.ModelError, match="no-such-compiler"):
            mp.from_stan(tmp_path / "included.stan", SCHOOLS_DATA)


def test_a_density_that_stan_rejects_is_no_error():
    target = mp.from_stan(SCHOOLS, SCHOOLS_DATA)
    value, gradient = jax.value_and_grad(target)(jnp.zeros(10).at[0].set(np.nan))
    assert not np.isfinite(value)
    assert not np.isfinite(gradient).all()


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # a trajectory or two may diverge
def test_the_page_on_stan_runs_and_schools_are_sampled_right(capsys):
    page = (Path(__file__).parent.parent / "docs" / "stan.md").read_text(encoding="utf-8")
    namespace = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, namespace)
    assert len(capsys.readouterr().out.strip("[] \n").split()) == 8
    tree = namespace["tree"]
    assert {name: values.shape[2:] for name, values in tree["posterior"].items()} == {
        "mu": (), "tau": (), "z": (8,), "theta": (8,), "y_rep": (8,)
    }  # fmt: skip
    assert set(tree["constant_data"]) == {"J", "y", "sigma"}
    log_tau = np.log(tree["posterior"]["tau"].values)
    assert largest_deviation({"log tau": log_tau}, {"log tau": Known(0.8021, 1.1712)}) < 4.0


@pytest.mark.parametrize(
    ("program", "data", "error", "words"),
    [
        ("parameters { real x } model { x ~ normal(0, 1); }", {}, mp.ModelError, "Syntax error"),
        ("no/such/file.stan", {}, mp.ModelError, "cannot be read"),
        (3, {}, mp.ModelError, "code"),
        (SCHOOLS, {"J": 8, "sigma": SIGMA}, mp.ModelError, "The data has no 'y'"),
        (SCHOOLS, {"J": 7, "y": Y, "sigma": SIGMA}, mp.ModelError, "Stan rejects the data"),
        (SCHOOLS, {"J": 8, "y": "eight", "sigma": SIGMA}, mp.ModelError, "data"),
        (SCHOOLS, [1, 2], mp.ModelError, "dict"),
        (SCHOOLS, "no/such/file.json", mp.DataError, "JSON"),
    ],
)
def test_errors_in_programs_and_data_are_reported(program, data, error, words):
    with pytest.raises(error, match=words):
        mp.from_stan(program, data)


def test_bridgestan_serves_where_httpstan_is_missing(monkeypatch, tmp_path):
    """With a stand-in for BridgeStan, whose sources are not in a package registry."""
    ours = HTTPStanModel(program_from(NONCENTERED), SCHOOLS_DATA, 0)

    class StanModel:
        def __init__(self, library, data, seed, warn):
            assert (library, json.loads(data)["J"], seed) == ("made", 8, 3)
            self.param_unc_num, self.param_names = lambda: ours.dimension, lambda **_: ours.columns
            self.new_rng = np.uint32

        def log_density_gradient(self, x):
            values, gradients = ours.gradients(x[None])
            if not np.isfinite(values[0]):
                raise RuntimeError("rejected")
            return values[0], gradients[0]

        def log_density_hessian_vector_product(self, x, v):
            return 0.0, ours.products(x[None], v[None])[0]

        def param_constrain(self, x, *, include_tp, include_gq, rng):
            assert include_tp
            assert include_gq
            return ours.constrain(x[None], np.array([rng]))[0]

    def compile_model(file, stanc_args, make_args):
        assert file.read_text() == NONCENTERED
        if len(make_args) > 1:
            raise RuntimeError("it is not twice differentiable")
        return "made"

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bridgestan", SimpleNamespace(StanModel=StanModel, compile_model=compile_model))
    target = target_of(BridgeStanModel(program_from(NONCENTERED), SCHOOLS_DATA, 3), SCHOOLS_DATA, 0)
    same = target_of(ours, SCHOOLS_DATA, 0)
    x = jnp.linspace(-1.0, 1.0, 10)
    for function in (jax.value_and_grad, jax.hessian):
        jax.tree.map(np.testing.assert_array_equal, jax.jit(function(target))(x), jax.jit(function(same))(x))
    jax.tree.map(np.testing.assert_array_equal, target.constrain(x), same.constrain(x))
    assert target(x.at[0].set(np.nan)) == -np.inf
    monkeypatch.setenv("BRIDGESTAN", str(tmp_path))
    (tmp_path / "Makefile").touch()
    monkeypatch.setattr(bridgestan_model, "find_spec", lambda name: True)
    monkeypatch.setitem(sys.modules, "bridgestan.download", SimpleNamespace(CURRENT_BRIDGESTAN=tmp_path / "none"))
    assert bridgestan_model.is_available()
    monkeypatch.delenv("BRIDGESTAN")
    assert not bridgestan_model.is_available()


def test_a_missing_patch_or_compiler_is_reported(monkeypatch):
    with pytest.raises(mp.MetricError, match="residual"):
        mp.sample(mp.from_stan(SCHOOLS, SCHOOLS_DATA), metric="patch")
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(mp.ModelError, match="C\\+\\+ compiler"):
        mp.from_stan(SCHOOLS, SCHOOLS_DATA)
