"""What NumPyro's users may reach for besides `mongepatch.from_numpyro`. Importing this imports numpyro."""

from mongepatch._extras import require

require("numpyro", "numpyro", "mongepatch.numpyro")

from mongepatch.frontends.numpyro.residuals import Rows, Site, register_residual  # noqa: E402  # it needs numpyro

__all__ = ["Rows", "Site", "register_residual"]
