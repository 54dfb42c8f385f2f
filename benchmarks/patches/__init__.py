"""Centred hierarchical models: our sampler compared with others, and with reparametrisations made by hand."""
