"""PyMC models as targets. Importing this package imports pymc and numpyro."""
