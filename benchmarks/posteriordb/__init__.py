"""Posteriors of posteriordb: as JAX densities, as NumPyro models, and compared with its reference draws.

The models are here; data and draws are not. `folder.py` describes the folder that they are read from.
"""
