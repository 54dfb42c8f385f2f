"""Measurements that the documentation quotes, one module each; run by `mongepatch bench …`."""
