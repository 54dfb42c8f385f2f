"""Every public function and class has a docstring with an example, and the examples run."""

import doctest
import importlib.util
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import mongepatch as mp

# Protocols, results and errors are not called by users; classes of this kind are made by other functions.
NOT_CALLED = {"Algorithm", "Failure", "Info", "Marginal", "Metric", "Path", "SamplingWarning", "State", "Truth"}
NEEDS = {"from_pymc": "pymc", "sample_pymc": "pymc", "from_stan": "stan"}


def public():
    for module in (mp, mp.targets, mp.baselines, mp.datasets):
        for name in module.__all__:
            thing = getattr(module, name)
            called = inspect.isfunction(thing) or inspect.isclass(thing)
            if called and name not in NOT_CALLED and not (inspect.isclass(thing) and issubclass(thing, Exception)):
                yield f"{module.__name__}.{name}", thing


PUBLIC = dict(public())


@pytest.mark.parametrize("name", PUBLIC)
@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # examples are short runs
def test_examples_run(name):
    needed = NEEDS.get(name.rsplit(".", maxsplit=1)[-1])
    examples = doctest.DocTestFinder(recurse=False).find(
        PUBLIC[name], globs={"jax": jax, "jnp": jnp, "np": np, "mp": mp}
    )
    assert any(example.examples for example in examples), f"{name} has no example in its docstring"
    if needed is not None and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    for example in examples:
        results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
        assert not results.failed
