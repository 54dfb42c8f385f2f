"""A dataset as a regression takes it."""

from dataclasses import dataclass

import numpy as np

from mongepatch.targets import Target
from mongepatch.targets.logistic import logistic_regression, standardized_design


@dataclass(frozen=True, eq=False)
class Dataset:
    """Features and outcomes of a logistic regression, as they are in the file; the arrays cannot be written to."""

    name: str
    """As `load` knows it."""
    features: np.ndarray
    """N × K, unscaled."""
    outcomes: np.ndarray
    """N zeros and ones."""
    columns: tuple[str, ...]
    """Names of the K features."""
    source: str
    """Whom to cite."""
    licence: str
    """Licence of the data, which is not that of this package."""

    @property
    def design(self) -> np.ndarray:
        """The paper's N × (K + 1) matrix: columns scaled to mean 0 and standard deviation 1, ones put first."""
        return standardized_design(self.features)

    @property
    def design_columns(self) -> tuple[str, ...]:
        """Names of the columns of `design`."""
        return ("intercept", *self.columns)

    def target(self, prior_variance: float = 100.0) -> Target:
        """The posterior of the coefficients of `design`, to be sampled; the prior is the paper's."""
        return logistic_regression(
            self.design, self.outcomes, prior_variance=prior_variance, columns=self.design_columns
        )
