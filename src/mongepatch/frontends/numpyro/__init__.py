"""NumPyro models as targets. Importing this package imports numpyro."""
