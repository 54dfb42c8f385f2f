"""What NumPyro's users may reach for besides `mongepatch.from_numpyro`. Importing this imports numpyro."""

from mongepatch._extras import require

require("numpyro", "numpyro", "mongepatch.numpyro")

from mongepatch.frontends.numpyro.kernel import PatchNUTS  # noqa: E402  # they need numpyro
from mongepatch.frontends.residuals import Rows, Site, register_residual  # noqa: E402

__all__ = ["PatchNUTS", "Rows", "Site", "register_residual"]
