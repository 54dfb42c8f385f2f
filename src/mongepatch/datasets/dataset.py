"""A dataset of a logistic regression."""

from dataclasses import dataclass

import numpy as np

from mongepatch.targets import Target
from mongepatch.targets.logistic import logistic_regression, standardized_design


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features and outcomes of a logistic regression, as in the file. The arrays are read-only.

    Example:
        >>> dataset = mp.datasets.load("heart")
        >>> dataset.design.shape
        (270, 14)
        >>> target = dataset.target()  # then mp.sample(target)
    """

    name: str
    """The argument of `load`."""
    features: np.ndarray
    """N × K, unscaled."""
    outcomes: np.ndarray
    """N zeros and ones."""
    columns: tuple[str, ...]
    """Names of the K features."""
    source: str
    """The reference to cite."""
    licence: str
    """Licence of the data, which differs from that of this package."""

    @property
    def design(self) -> np.ndarray:
        """The N × (K + 1) design matrix of the paper: ones, then columns with mean 0 and standard deviation 1."""
        return standardized_design(self.features)

    @property
    def design_columns(self) -> tuple[str, ...]:
        """Names of the columns of `design`."""
        return ("intercept", *self.columns)

    def target(self, prior_variance: float = 100.0) -> Target:
        """The posterior of the coefficients of `design`, as a target; the default prior is the paper's."""
        return logistic_regression(
            self.design, self.outcomes, prior_variance=prior_variance, columns=self.design_columns
        )
