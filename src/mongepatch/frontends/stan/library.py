"""Stan programs as shared libraries, compiled with what httpstan brings and kept between runs."""

import hashlib
import os
import platform
import subprocess
import tempfile
from importlib import resources
from importlib.metadata import version
from pathlib import Path

import jax

from mongepatch._cache import cache_folder, keep
from mongepatch._extras import require
from mongepatch.errors import ModelError
from mongepatch.frontends.stan.source import Program

_FLAGS = ("-shared", "-fPIC", "-O3", "-std=c++17", "-w")
_MACROS = ("BOOST_DISABLE_ASSERTS", "BOOST_PHOENIX_NO_VARIADIC_EXPRESSION", "STAN_THREADS", "_REENTRANT")
_OLD_STRINGS = "_GLIBCXX_USE_CXX11_ABI=0"
"""What httpstan's own libraries were built with."""
_TWICE = "STAN_MODEL_FVAR_VAR"
"""Makes densities that can be derived twice; not all functions of Stan can, its differential equations among them."""
_LIBRARIES = ("sundials_cvodes", "sundials_idas", "sundials_kinsol", "sundials_nvecserial", "tbb")


def library_of(program: Program) -> Path:
    """The path of a program's library, compiled now if it never was."""
    httpstan = require("httpstan", "stan", "mongepatch.from_stan")
    folder = Path(str(resources.files("httpstan")))
    bridge = resources.files("mongepatch.frontends.stan").joinpath("bridge.cpp").read_text(encoding="utf-8")
    source = _translated(program, folder / "stanc") + bridge
    versions = (httpstan.__version__, version("jaxlib"), str(folder), _compiler(), platform.platform())
    path = cache_folder("stan") / f"{_hash(source, *versions)}.so"
    if not path.is_file():
        _compile(source, folder, path)
    return path


def _translated(program: Program, stanc: Path) -> str:
    """The program in C++, or stanc's own words on what is wrong with it."""
    # A name for each program: C++ shares what has the same name, even between libraries.
    name = f"model_{_hash(program.code)}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.stan"
        file.write_text(program.code, encoding="utf-8")
        includes = [f"--include-paths={program.folder}"] if program.folder else []
        command = [str(stanc), "--name", name, "--print-cpp", *includes, file.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ModelError(f"Stan cannot read the program: {done.stderr.strip()}")
    return done.stdout


def _compile(source: str, httpstan: Path, path: Path) -> None:
    """Compile with second derivatives, or without them where the model has none."""
    with tempfile.TemporaryDirectory() as folder:
        code, made = Path(folder) / "model.cpp", Path(folder) / "model.so"
        code.write_text(source, encoding="utf-8")
        for macros in ((_TWICE, *_MACROS), _MACROS):
            command = [
                *(_compiler(), *_FLAGS, *(f"-D{macro}" for macro in (*macros, _OLD_STRINGS))),
                *(f"-I{httpstan / 'include'}", f"-I{jax.ffi.include_dir()}", str(code), "-o", str(made)),
                *(f"-L{httpstan / 'lib'}", f"-Wl,-rpath,{httpstan / 'lib'}", *(f"-l{name}" for name in _LIBRARIES)),
            ]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except OSError as error:
                raise ModelError(
                    f"A Stan model needs a C++ compiler, and {_compiler()!r} cannot be run: {error}. Install one, such "
                    "as g++, or name it in the environment variable CXX."
                ) from error
            if done.returncode == 0:
                keep(path, made.read_bytes())
                return
    raise ModelError(f"The C++ compiler refuses the model: {done.stderr[:2000].strip()}")


def _compiler() -> str:
    return os.environ.get("CXX", "c++")


def _hash(*texts: str) -> str:
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()
