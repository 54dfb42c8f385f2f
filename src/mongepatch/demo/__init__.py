"""What the library is for: two models whose narrow region NUTS does not enter, each sampled by NUTS and by us."""

from mongepatch.demo.run import run_demo

__all__ = ["run_demo"]
