"""Seconds of a block, with compilation counted separately."""

import threading
import time

import jax
import jax.numpy as jnp
import pytest

from mongepatch.program.stopwatch import stopwatch


def compile_slowly():
    """Trace a function that takes its time."""

    def slow(x):
        time.sleep(0.2)
        return x + 1

    jax.jit(slow).lower(jnp.zeros(2)).compile()


@pytest.mark.parametrize("this_thread", [False, True])
def test_compilation_of_another_thread_counts_where_it_is_asked_for(this_thread):
    with stopwatch(this_thread=this_thread) as watch:
        thread = threading.Thread(target=compile_slowly)
        thread.start()
        thread.join()
    assert watch.total > 0.2
    assert (watch.compiling > 0.2) is not this_thread


def test_compilation_of_this_thread_is_not_running():
    with stopwatch(this_thread=True) as watch:
        compile_slowly()
        time.sleep(0.1)
    assert watch.compiling > 0.2
    assert 0.1 <= watch.running < watch.total - 0.2
