"""The first call in a fresh process: our sampler compared with NumPyro's NUTS, and where the time goes."""
