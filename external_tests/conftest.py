import os

# What PyTensor itself computes here is small, and to compile it takes longer than to run it as it is.
os.environ.setdefault("PYTENSOR_FLAGS", "mode=FAST_COMPILE,cxx=")
