"""Residuals of a model, those of its latent variables and those of its data apart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mongepatch._typing import AnyVector, Scalar, Vector


class DataSite(NamedTuple):
    """What one observed variable says about the parameters, at one position."""

    residuals: AnyVector
    """Its residuals: JᵀJ of their Jacobian is the information of the data."""
    log_likelihood: Scalar
    """Its log density, up to a constant."""
    precision: Scalar
    """1/σ², to which its information is proportional, where it has one scale σ; else 1."""


@dataclass(frozen=True)
class ModelResiduals:
    """The residuals of a model as functions of flat positions."""

    latent: Callable[[Vector], AnyVector]
    """Residuals of the latent variables: standard normal, all together, where these are normal."""
    data: Callable[[Vector], tuple[DataSite, ...]]
    """The observed variables; none where they are not known by themselves."""
    unbounded: np.ndarray | None = None
    """Whether each coordinate is a variable's own value, rather than the logarithm or the like of a bounded one; None
    where all of them are."""
    has_own_likelihood: bool = True
    """Whether log likelihoods are computed apart from the prior. What a log density leaves beside latent residuals is
    not: its program knows these too, and linear predictors cannot be read off it."""
    source: str = ""
    """Where the residuals are from, for `sample` to say, if not from the model itself."""
