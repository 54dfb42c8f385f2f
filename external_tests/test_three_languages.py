"""The same models in NumPyro, PyMC and Stan: one density, one posterior, one set of names and dims."""

from itertools import combinations
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import flattened, known_from, largest_deviation

import mongepatch as mp

pytest.importorskip("numpyro", reason="numpyro is not installed: pip install 'mongepatch[numpyro]'")
pytest.importorskip("pymc", reason="pymc is not installed: pip install 'mongepatch[pymc]'")
pytest.importorskip("httpstan", reason="httpstan is not installed: pip install 'mongepatch[stan]'")

from trilingual import MODELS


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    return SimpleNamespace(model=MODELS[request.param], targets=MODELS[request.param].targets())


def test_log_densities_differ_by_a_constant_at_twenty_points(case):
    """Nearly: PyMC has the reciprocal of a Gamma's rate in single precision, if it is a constant."""
    x = jnp.asarray(np.random.default_rng(1).normal(size=(20, case.targets["stan"].dimension)))
    values = {language: jax.vmap(target)(x) for language, target in case.targets.items()}
    for one, other in combinations(values.values(), 2):
        np.testing.assert_allclose(one - other, one[0] - other[0], rtol=0, atol=1e-6)


@pytest.mark.usefixtures("optimized")  # it draws for longer than it compiles
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # a trajectory or two may diverge
def test_posteriors_names_and_dims_are_the_same(case):
    of_stan = {"dims": case.model.dims} | ({"residuals": case.model.residuals} if case.model.residuals else {})
    trees = {
        language: mp.sample(target, draws=4000, seed=seed, progress=False, **(of_stan if language == "stan" else {}))[
            "posterior"
        ]
        for seed, (language, target) in enumerate(case.targets.items())
    }
    assert len({tuple(sorted((name, tree[name].dims) for name in tree)) for tree in trees.values()}) == 1
    draws = {language: flattened({name: tree[name].values for name in tree}) for language, tree in trees.items()}
    for one, other in combinations(draws, 2):
        assert largest_deviation(draws[one], known_from(draws[other])) < 4.0, (one, other)
