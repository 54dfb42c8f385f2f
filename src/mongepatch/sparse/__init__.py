"""Sparsity: patterns of Jacobians, their colouring, and systems of a known pattern, solved fast under vmap.

Everything that depends on a pattern alone is decided beforehand, in Python. What is left at run time are a few slices,
products and sums, which compile to straight code and can be differentiated.
"""
