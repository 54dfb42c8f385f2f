"""A centred PyMC model on which `pm.sample` diverges: our sampler compared with `pm.sample` and nutpie."""
