"""Builds the sdist and the wheel into dist/, and checks the wheel as a user gets it: `make dist`.

The wheel is built from the sdist, installed in an empty environment, and used there from a folder outside the checkout:
the README's first example runs, and mypy reads the types of a small program.
"""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
DIST = ROOT / "dist"
IN_WHEEL = ("mongepatch/__init__.py", "mongepatch/py.typed", "mongepatch/datasets/data/NOTICE.md")
IN_SDIST = (
    "README.md",
    "CHANGELOG.md",
    "CITATION.cff",
    "LICENSE",
    "Makefile",
    "tests/test_release.py",
    "docs/index.md",
)
TYPED = """import mongepatch as mp
metric: mp.Monge = mp.Monge(1.0)
"""
MISTYPED = """import mongepatch as mp
number: int = mp.__version__
"""


def main() -> None:
    """Build, look into both files, install the wheel, and use it."""
    wheel = built()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        venv.create(folder / "env", with_pip=True)
        python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
        run(python, "-m", "pip", "install", "--quiet", f"{wheel}[numpyro]", mypy_of_dev(), cwd=folder)
        where = run(python, "-c", "import mongepatch; print(mongepatch.__file__)", cwd=folder)
        require(Path(where.strip()).is_relative_to(folder), f"the package came from {where.strip()}")
        run_readme(python, folder)
        check_types(python, folder)
    print(f"{wheel.name} installs in an empty environment, runs the README's first example, and has its types.")


def built() -> Path:
    """The wheel, built from the sdist; both hold what they should."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", DIST, ROOT, cwd=ROOT)
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    require(set(IN_SDIST) <= inside, f"the sdist lacks {sorted(set(IN_SDIST) - inside)}")
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    require(set(IN_WHEEL) <= packed, f"the wheel lacks {sorted(set(IN_WHEEL) - packed)}")
    strangers = {name.split("/")[0] for name in packed if not name.startswith("mongepatch")}
    require(not strangers, f"the wheel installs {sorted(strangers)} beside the package")
    return wheel


def run_readme(python: Path, folder: Path) -> None:
    """The README's first example."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)[0]
    (folder / "example.py").write_text(first, encoding="utf-8")
    run(python, "example.py", cwd=folder)


def check_types(python: Path, folder: Path) -> None:
    """The types are seen by mypy: a right program passes, a wrong one does not."""
    for code, right in ((TYPED, True), (MISTYPED, False)):
        (folder / "program.py").write_text(code, encoding="utf-8")
        done = subprocess.run(
            [python, "-m", "mypy", "--strict", "program.py"], cwd=folder, capture_output=True, text=True, check=False
        )
        require((done.returncode == 0) == right, f"mypy on\n{code}says\n{done.stdout}{done.stderr}")
    require("incompatible type" in done.stdout.lower(), f"mypy found another error:\n{done.stdout}")


def mypy_of_dev() -> str:
    """The requirement of mypy among the tools of `make test`."""
    return next(re.finditer(r'"(mypy==[^"]+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"))).group(1)


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints. It sees no path of the checkout."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    done = subprocess.run(command, cwd=cwd, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    require(done.returncode == 0, f"{' '.join(map(str, command))} failed: {done.stdout}")
    return done.stdout


def require(condition: bool, otherwise: str) -> None:
    """Stop with a message where something is wrong."""
    if not condition:
        sys.exit(f"make dist: {otherwise}")


if __name__ == "__main__":
    main()
