"""For users of NumPyro, besides `mongepatch.from_numpyro`: an MCMC kernel, and residuals for new distributions.

Importing this package imports numpyro.
"""

from mongepatch._extras import require

require("numpyro", "numpyro", "mongepatch.numpyro")

from mongepatch.frontends.residuals import ResidualArray, Site, register_residual  # noqa: E402  # they need numpyro
from mongepatch.numpyro.kernel import PatchNUTS  # noqa: E402

__all__ = ["PatchNUTS", "ResidualArray", "Site", "register_residual"]
