"""Triton's kernels of a logistic regression: on a GPU where there is one, in Triton's interpreter elsewhere."""

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from mongepatch.targets import logistic_primitives

ON_GPU = jax.default_backend() == "gpu"
with pytest.MonkeyPatch.context() as patch:
    if not ON_GPU:
        patch.setenv("TRITON_INTERPRET", "1")  # which functions of Triton's own are compiled is decided at its import
    pytest.importorskip("triton", reason="Triton is not installed: pip install 'mongepatch[gpu]'")
if ON_GPU:
    pytest.importorskip("jax_triton", reason="jax-triton is not installed: pip install 'mongepatch[gpu]'")

PRECISION, RNG = 0.3, np.random.default_rng(4)
SIZES = [(1, 3, 5), (70, 14, 270), (100, 16, 64), (33, 20, 130), (40, 2, 9000)]
"""Chains, coefficients and observations: a part of a block, several blocks, whole blocks, more factors than one product
may hold."""


class OnHost:
    """An array as Triton's interpreter wants it: with the methods of a tensor that moves between devices."""

    def __init__(self, array):
        self.array, self.dtype = array, str(array.dtype)

    def data_ptr(self):
        return self.array.ctypes.data

    def untyped_storage(self):
        return self

    def cpu(self):
        return self

    def new_empty(self, *_, **__):
        return self

    def set_(self, *_):
        pass

    def storage_offset(self):
        return 0

    def size(self):
        return self.array.shape

    def stride(self):
        return ()

    def copy_(self, other):
        assert other is self


def interpreted_call(*arrays, kernel, grid, out_shape, num_warps, num_stages, **constants):
    """What `jax_triton.triton_call` does, in Triton's interpreter."""
    results = [np.full(shape.shape, np.nan, shape.dtype) for shape in out_shape]
    given = [OnHost(np.ascontiguousarray(array)) for array in arrays]
    kernel[(grid,)](*given, *map(OnHost, results), **constants)
    return results


def kernels():
    """The module of kernels as it is: other modules of tests have their types checked, which Triton cannot compile."""
    path = Path(logistic_primitives.__file__).with_name("logistic_kernels.py")
    spec = importlib.util.spec_from_file_location("kernels", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def interpreted(monkeypatch):
    """The kernels as Triton's interpreter runs them."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setitem(sys.modules, "jax_triton", SimpleNamespace(triton_call=interpreted_call))
    module = kernels()
    module._reciprocal = lambda numbers: 1.0 / numbers  # it has no inline assembly
    return module


def operands(chains, coefficients, observations):
    """β, features and two vectors, in single precision."""
    shapes = ((chains, coefficients), (observations, coefficients), (chains, coefficients), (chains, coefficients))
    beta, *others = (jnp.asarray(RNG.normal(size=shape), jnp.float32) for shape in shapes)
    return beta / coefficients**0.5, *others


def check(module, beta, features, u, v):
    """Results of kernels are those of the formulas in double precision, to the rounding of single precision."""
    double = [array.astype(jnp.float64) for array in (beta, features, u, v)]
    value, gradient = logistic_primitives._value_and_gradient(*double[:2], precision=PRECISION)
    products = logistic_primitives._hessian_times(*double, precision=PRECISION)
    found = module.value_and_gradient(beta, features, PRECISION)
    for mine, exact in zip(found, (value, gradient), strict=True):
        np.testing.assert_allclose(mine, exact, rtol=3e-6, atol=3e-6 * float(jnp.abs(exact).max()))
    for vectors, exact in (((u, v), products), ((v,), products[1:]), ((u, v, u), (*products, products[0]))):
        for mine, own in zip(module.hessian_times(beta, features, vectors, PRECISION), exact, strict=True):
            np.testing.assert_allclose(mine, own, rtol=3e-6, atol=3e-6 * float(jnp.abs(own).max()))


@pytest.mark.skipif(ON_GPU, reason="the kernels run on the GPU itself")
@pytest.mark.parametrize("size", SIZES)
def test_kernels_are_the_formulas_in_the_interpreter(size, interpreted):
    check(interpreted, *operands(*size))


@pytest.mark.skipif(ON_GPU, reason="the kernels run on the GPU itself")
def test_large_margins_in_the_interpreter(interpreted):
    beta, features, u, v = operands(5, 4, 40)
    check(interpreted, 200.0 * beta, features, u, v)


@pytest.mark.skipif(not ON_GPU, reason="there is no GPU")
@pytest.mark.parametrize("size", [(8192, 14, 270), (10_001, 32, 1000), (5000, 3, 70)])
def test_kernels_are_the_formulas_on_a_gpu(size, monkeypatch):
    beta, features, u, v = operands(*size)
    module = kernels()
    monkeypatch.setattr(logistic_primitives, "_kernels", lambda: module)
    own = jax.vmap(jax.value_and_grad(lambda b: logistic_primitives.log_density(b, features, PRECISION)))
    assert "triton_kernel_call" in jax.jit(own).lower(beta).compile().as_text()
    check(module, beta, features, u, v)
