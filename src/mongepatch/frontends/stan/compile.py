"""Stan programs compiled to shared libraries, with the compiler and headers of httpstan, and cached."""

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
from mongepatch.frontends.stan.source import StanProgram

_FLAGS = ("-shared", "-fPIC", "-O3", "-std=c++17", "-w")
_MACROS = ("BOOST_DISABLE_ASSERTS", "BOOST_PHOENIX_NO_VARIADIC_EXPRESSION", "STAN_THREADS", "_REENTRANT")
_STRING_ABI = "_GLIBCXX_USE_CXX11_ABI=0"
"""The ABI of httpstan's own libraries."""
_SECOND_DERIVATIVES = "STAN_MODEL_FVAR_VAR"
"""Compiles second derivatives; some functions of Stan do not have them, such as its differential equation solvers."""
_LIBRARIES = ("sundials_cvodes", "sundials_idas", "sundials_kinsol", "sundials_nvecserial", "tbb")


def compile_program(program: StanProgram) -> Path:
    """The path of a program's library, which is compiled unless it is in the cache."""
    httpstan = require("httpstan", "stan", "mongepatch.from_stan")
    folder = Path(str(resources.files("httpstan")))
    bridge = resources.files("mongepatch.frontends.stan").joinpath("bridge.cpp").read_text(encoding="utf-8")
    source = _translate(program, folder / "stanc") + bridge
    versions = (httpstan.__version__, version("jaxlib"), str(folder), _compiler(), platform.platform())
    path = cache_folder("stan") / f"{_hash(source, *versions)}.so"
    if not path.is_file():
        _compile_cpp(source, folder, path)
    return path


def _translate(program: StanProgram, stanc: Path) -> str:
    """The program in C++. Raises with stanc's message if the program has errors."""
    # Every program has a name of its own, since C++ shares symbols of the same name between libraries.
    name = f"model_{_hash(program.code)}"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.stan"
        file.write_text(program.code, encoding="utf-8")
        includes = [f"--include-paths={program.folder}"] if program.folder else []
        command = [str(stanc), "--name", name, "--print-cpp", *includes, file.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ModelError(f"The Stan program has errors: {done.stderr.strip()}")
    return done.stdout


def _compile_cpp(source: str, httpstan: Path, path: Path) -> None:
    """Compile with second derivatives, or without them if the model does not have them."""
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder) / "model.cpp", Path(folder) / "model.so"
        code.write_text(source, encoding="utf-8")
        for macros in ((_SECOND_DERIVATIVES, *_MACROS), _MACROS):
            command = [
                *(_compiler(), *_FLAGS, *(f"-D{macro}" for macro in (*macros, _STRING_ABI))),
                *(f"-I{httpstan / 'include'}", f"-I{jax.ffi.include_dir()}", str(code), "-o", str(library)),
                *(f"-L{httpstan / 'lib'}", f"-Wl,-rpath,{httpstan / 'lib'}", *(f"-l{name}" for name in _LIBRARIES)),
            ]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False)
            except OSError as error:
                raise ModelError(
                    f"Stan models need a C++ compiler, and {_compiler()!r} cannot be run: {error}. Install one, such "
                    "as g++, or set the environment variable CXX to yours."
                ) from error
            if done.returncode == 0:
                keep(path, library.read_bytes())
                return
    raise ModelError(f"The C++ compiler fails on the Stan model: {done.stderr[:2000].strip()}")


def _compiler() -> str:
    return os.environ.get("CXX", "c++")


def _hash(*texts: str) -> str:
    return hashlib.blake2b("\n".join(texts).encode(), digest_size=16).hexdigest()
