"""Every public function and class has a docstring with an example, and the examples run."""

import doctest
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers import slow_but

import mongepatch as mp
import mongepatch.numpyro

# Protocols, results and errors are not called by users; classes of this kind are made by other functions.
NOT_CALLED = {
    *("Algorithm", "Failure", "Info", "Marginal", "Metric", "Path", "SamplingWarning", "State", "Truth"),
    *("ResidualArray", "RunStatus", "SamplingInterrupted", "Site"),
}
OTHERS = {"mongepatch.from_pymc", "mongepatch.sample_pymc", "mongepatch.from_stan"}
"""Examples that need PyMC or Stan: `external_tests` runs them."""


def public():
    for module in (mp, mp.targets, mp.baselines, mp.datasets, mongepatch.numpyro):
        for name in module.__all__:
            thing = getattr(module, name)
            called = inspect.isfunction(thing) or inspect.isclass(thing)
            if called and name not in NOT_CALLED and not (inspect.isclass(thing) and issubclass(thing, Exception)):
                yield f"{module.__name__}.{name}", thing


PUBLIC = dict(public())


def examples(name):
    globs = {"jax": jax, "jnp": jnp, "np": np, "mp": mp}
    found = doctest.DocTestFinder(recurse=False).find(PUBLIC[name], globs=globs)
    assert any(example.examples for example in found), f"{name} has no example in its docstring"
    return found


EXAMPLES = sorted(PUBLIC.keys() - OTHERS)
WITH_MCMC = ("mongepatch.numpyro.PatchNUTS", "mongepatch.numpyro.WhitenedNUTS")


def run_examples(name):
    for example in examples(name):
        assert not doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed


@pytest.mark.parametrize("name", slow_but(EXAMPLES, *(name for name in EXAMPLES if name not in WITH_MCMC)))
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # examples are short runs
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write a store
    run_examples(name)


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_there_are_examples_of_what_needs_other_libraries(name):
    assert examples(name)
