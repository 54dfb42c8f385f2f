"""Importing is light, and what is not installed is asked for by name."""

import ast
import re
import traceback
from pathlib import Path

import pytest
from helpers import HEAVY, run_python, without

import mongepatch as mp

ROOT = Path(__file__).parent.parent


def test_import_loads_nothing_heavier_than_jax():
    """Everything that `import mongepatch` adds to `import jax` and its flat-vector and linear-algebra helpers."""
    done = run_python(f"import sys, mongepatch; print([name for name in {HEAVY} if name in sys.modules])")
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


EVERYTHING = "import mongepatch; assert all(hasattr(mongepatch, name) for name in mongepatch.__all__)"
USED_LATE = ("jax.extend.core", "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.special", "scipy.stats")
"""Modules that all names of the package can be had without: they are loaded where they are used."""


@pytest.mark.parametrize("code", ["import mongepatch", EVERYTHING], ids=["import", "every name"])
def test_slow_modules_are_loaded_only_when_used(code):
    done = run_python(f"{code}\nimport sys; print([name for name in {(*HEAVY, *USED_LATE)} if name in sys.modules])")
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_rooms_are_loaded_only_when_used():
    """So that importing takes little more than importing JAX: there are more than a hundred modules."""
    done = run_python("import sys, mongepatch; print(sorted(n for n in sys.modules if n.startswith('mongepatch.')))")
    assert done.stdout.strip() == "['mongepatch._cache', 'mongepatch._version', 'mongepatch.errors']", done.stderr


def test_names_are_those_that_type_checkers_see():
    tree = ast.parse((ROOT / "src" / "mongepatch" / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module.startswith("mongep")]
    seen = {alias.name: node.module for node in imports for alias in node.names}
    assert set(mp.__all__) == seen.keys() - {"use_compilation_cache"}
    assert set(mp.__all__) <= set(dir(mp))
    for module, names in mp._NAMES.items():
        assert {name: seen[name] for name in names} == dict.fromkeys(names, f"mongepatch.{module}")


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("smaple", r"'mongepatch' has no attribute 'smaple'\. Did you mean mp\.sample\?"),
        ("Nuts", r"Did you mean mp\.NUTS\?"),
        ("softabs", r"Did you mean mp\.SoftAbs\?"),
        ("horseradish", "'horseradish'$"),
        ("__wrapped__", "'__wrapped__'$"),
    ],
)
def test_a_misspelt_name_is_answered_once(name, answer):
    with pytest.raises(AttributeError, match=answer) as caught:
        getattr(mp, name)
    told = "".join(traceback.format_exception_only(caught.value))
    assert told.count("Did you mean") == answer.count("Did you mean")


VERSION = """
from typer.testing import CliRunner
from mongepatch.cli import app
assert CliRunner().invoke(app, ["--version"]).exit_code == 0
"""


@pytest.mark.parametrize("code", ["import mongepatch", VERSION], ids=["import", "--version"])
def test_the_paper_and_the_benchmarks_are_loaded_only_when_used(code):
    rooms = ("mongepatch.paper", "benchmarks")
    done = run_python(f"{code}\nimport sys; print([name for name in sys.modules if name.startswith({rooms})])")
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


@pytest.mark.parametrize("folder", ["src", "tests"])
def test_nothing_imports_the_benchmarks_but_their_own_tests(folder):
    pattern = re.compile(r"^\s*(from|import) benchmarks\b", re.MULTILINE)
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    assert [path for path in files if pattern.search(path.read_text(encoding="utf-8"))] == []


SAMPLE = """
import jax.numpy as jnp, mongepatch as mp
mp.sample(lambda x: -x @ x, jnp.zeros(2), metric=mp.Euclidean(), trajectory=mp.Static(2), step_size=0.1, draws=5)
"""


@pytest.mark.parametrize(
    ("module", "code", "extra"),
    [
        ("arviz_base", SAMPLE, "sample"),
        pytest.param("rich", SAMPLE, "sample", marks=pytest.mark.slow),
        ("numpyro", "import mongepatch as mp; mp.from_numpyro(lambda: None)", "numpyro"),
        pytest.param("numpyro", "import mongepatch.numpyro", "numpyro", marks=pytest.mark.slow),
        ("pymc", "import mongepatch as mp; mp.from_pymc(None)", "pymc"),
        pytest.param("pymc", "import mongepatch as mp; mp.sample_pymc()", "pymc", marks=pytest.mark.slow),
        ("httpstan", "import mongepatch as mp; mp.from_stan('parameters { real x; }')", "stan"),
        ("zarr", SAMPLE.replace("draws=5", "draws=5, progress=False, store='no.zarr'"), "store"),
        ("matplotlib", "from mongepatch.demo import run_demo; run_demo(draws=10)", "plot"),
        pytest.param("numpyro", "from mongepatch.demo import run_demo; run_demo()", "numpyro", marks=pytest.mark.slow),
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
