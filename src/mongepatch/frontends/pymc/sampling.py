"""`with model: mp.sample_pymc()`."""

from typing import TYPE_CHECKING, Any

import pymc as pm

from mongepatch.errors import ModelError, SettingError
from mongepatch.frontends.pymc.build import build
from mongepatch.sampling import sample

if TYPE_CHECKING:
    from xarray import DataTree


def sample_model(model: Any, draws: int, tune: int | None, random_seed: Any, settings: dict[str, Any]) -> "DataTree":
    """`mongepatch.sample` of a model, with PyMC's names for two of its arguments."""
    renamed = {"warmup": ("tune", tune), "seed": ("random_seed", random_seed)}
    for name, (theirs, value) in renamed.items():
        if value is not None:
            if name in settings:
                raise SettingError(f"{theirs} is PyMC's name for {name}: give one of them.")
            settings[name] = value
    return sample(build(_model(model)), draws=draws, **settings)


def _model(model: Any) -> Any:
    if model is not None:
        return model
    try:
        return pm.modelcontext(None)
    except TypeError as error:
        raise ModelError("There is no model: write `with model: mp.sample_pymc()`, or give model.") from error
