"""A Stan model compiled by BridgeStan, where that is installed with its sources and httpstan is not."""

import hashlib
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mongepatch._cache import cache_folder, keep
from mongepatch.errors import ModelError
from mongepatch.frontends.stan.compiled_model import model_ids
from mongepatch.frontends.stan.source import StanProgram, data_error_message, json_of

_THREADS, _EXACT_HESSIANS = "STAN_THREADS=True", "BRIDGESTAN_AD_HESSIAN=True"
"""Arguments of make. XLA calls back from several threads."""


def is_available() -> bool:
    """Whether BridgeStan is installed and its sources are where it looks for them. Nothing is downloaded."""
    if find_spec("bridgestan") is None:
        return False
    from bridgestan.download import CURRENT_BRIDGESTAN

    folders = (os.environ.get("BRIDGESTAN"), CURRENT_BRIDGESTAN)
    return any(folder and (Path(folder) / "Makefile").is_file() for folder in folders)


class BridgeStanModel:
    """A Stan model with its data, compiled by BridgeStan."""

    description = "compiled by BridgeStan, Hessian-vector products by BridgeStan"
    library = ""

    def __init__(self, program: StanProgram, data: Mapping[str, Any], seed: int, *, exact: bool = True) -> None:
        import bridgestan

        name = hashlib.blake2b(f"{exact}\n{program.code}".encode(), digest_size=16).hexdigest()
        file = cache_folder("bridgestan") / f"mongepatch_{name}.stan"
        if not file.is_file():  # a new modification time would have it compiled again
            keep(file, program.code)
        includes = [f"--include-paths={program.folder}"] if program.folder else []
        try:
            make_args = [_THREADS, _EXACT_HESSIANS] if exact else [_THREADS]
            library = bridgestan.compile_model(file, stanc_args=includes, make_args=make_args)
        except RuntimeError:
            try:  # not all of Stan is twice differentiable; BridgeStan then uses differences of gradients
                library = bridgestan.compile_model(file, stanc_args=includes, make_args=[_THREADS])
            except RuntimeError as error:
                raise ModelError(f"BridgeStan cannot compile the Stan program: {error}") from error
        try:
            self._model = bridgestan.StanModel(library, json_of(data), seed=seed, warn=False)
        except RuntimeError as error:
            raise ModelError(data_error_message(str(error), data)) from error
        self.model_id = next(model_ids)
        self.dimension = int(self._model.param_unc_num())
        self.columns = tuple(self._model.param_names(include_tp=True, include_gq=True))

    def gradients(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `CompiledModel`."""
        values, gradients = np.full(len(x), -np.inf), np.full_like(x, np.nan)
        for i, row in enumerate(x):
            try:
                values[i], gradients[i] = self._model.log_density_gradient(row)
            except RuntimeError:
                continue
        return values, gradients

    def products(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """See `CompiledModel`."""
        products = np.full_like(x, np.nan)
        for i, (row, vector) in enumerate(zip(x, v, strict=True)):
            try:
                products[i] = self._model.log_density_hessian_vector_product(row, vector)[1]
            except RuntimeError:
                continue
        return products

    def constrain(self, x: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        """See `CompiledModel`."""
        scalars = np.full((len(x), len(self.columns)), np.nan)
        for i, (row, seed) in enumerate(zip(x, seeds, strict=True)):
            try:
                rng = self._model.new_rng(int(seed))
                scalars[i] = self._model.param_constrain(row, include_tp=True, include_gq=True, rng=rng)
            except RuntimeError:
                continue
        return scalars
