"""For users of NumPyro, besides `mongepatch.from_numpyro`: MCMC kernels, and residuals for new distributions.

Importing this package imports numpyro.
"""

from mongepatch._extras import require

require("numpyro", "numpyro", "mongepatch.numpyro")

from mongepatch.frontends.residuals import ResidualArray, Site, register_residual  # noqa: E402  # they need numpyro
from mongepatch.numpyro.patch_nuts import PatchNUTS  # noqa: E402
from mongepatch.numpyro.whitened_nuts import WhitenedNUTS  # noqa: E402

__all__ = ["PatchNUTS", "ResidualArray", "Site", "WhitenedNUTS", "register_residual"]
