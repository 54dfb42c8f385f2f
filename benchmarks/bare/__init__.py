"""Log densities that are bare JAX functions, compared with the same models in NumPyro."""
