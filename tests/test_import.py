"""Importing is light, and what is not installed is asked for by name."""

import pytest
from helpers import HEAVY, run_python, without

import mongepatch as mp


def test_import_loads_nothing_heavier_than_jax():
    """Everything that `import mongepatch` adds to `import jax` and its flat-vector and linear-algebra helpers."""
    done = run_python(f"import sys, mongepatch; print([name for name in {HEAVY} if name in sys.modules])")
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


SAMPLE = """
import jax.numpy as jnp, mongepatch as mp
mp.sample(lambda x: -x @ x, jnp.zeros(2), metric=mp.Euclidean(), trajectory=mp.Static(2), step_size=0.1, draws=5)
"""


@pytest.mark.parametrize(
    ("module", "code", "extra"),
    [
        ("arviz_base", SAMPLE, "sample"),
        ("rich", SAMPLE, "sample"),
        ("numpyro", "import mongepatch as mp; mp.from_numpyro(lambda: None)", "numpyro"),
        ("numpyro", "import mongepatch.numpyro", "numpyro"),
        ("pymc", "import mongepatch as mp; mp.from_pymc(None)", "pymc"),
        ("pymc", "import mongepatch as mp; mp.sample_pymc()", "pymc"),
        ("httpstan", "import mongepatch as mp; mp.from_stan('parameters { real x; }')", "stan"),
        ("matplotlib", "from mongepatch.demo import run_demo; run_demo(draws=10)", "plot"),
    ],
)
def test_a_missing_extra_is_named(module, code, extra):
    done = run_python(without(module) + code)
    assert f'pip install "mongepatch[{extra}]"' in done.stderr
    assert "MissingExtraError" in done.stderr


def test_a_package_that_is_too_old_is_named():
    code = "import sys, types; old = types.ModuleType('pymc'); old.__version__ = '4.4.0'; sys.modules['pymc'] = old\n"
    done = run_python(code + "import mongepatch as mp; mp.from_pymc(None)")
    assert 'needs pymc 5.28 or later, and 4.4.0 is installed: pip install --upgrade "mongepatch[pymc]"' in done.stderr
    assert "MissingExtraError" in done.stderr


def test_the_command_line_names_its_extra():
    done = run_python(without("typer") + "import sys; from mongepatch.__main__ import main; sys.exit(main())")
    assert done.returncode == 1
    assert done.stderr.strip().endswith('pip install "mongepatch[cli]"')
    assert "Traceback" not in done.stderr


def test_the_samplers_run_on_jax_and_numpy_alone():
    hidden = "".join(without(module) for module in HEAVY)
    code = """
import jax, jax.numpy as jnp, mongepatch as mp
algorithm = mp.lmc(lambda x: -x @ x, mp.Monge(0.5), 0.1, mp.Static(3))
print(algorithm.step(jax.random.key(0), algorithm.init(jnp.zeros(2)))[1].n_grad)
"""
    done = run_python(hidden + code)
    assert done.stdout.strip() == "12", done.stderr


def test_public_names_have_docstrings():
    for name in mp.__all__:
        assert name.startswith("__") or getattr(mp, name).__doc__, name
