"""The models of NumPyro's examples with synthetic data: our sampler with everything automatic, and NumPyro's NUTS."""
