"""Waiting for a chunk, during which signals are answered."""

import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Thread

import jax
import jax.numpy as jnp
import pytest

from mongepatch.chains import waiting
from mongepatch.chains.waiting import wait_until_ready

needs_timers = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals of a timer")


class AlarmError(Exception):
    """Raised by a signal's handler."""


class Interrupted(Thread):
    """A thread during whose start a signal comes."""

    def start(self):
        super().start()
        raise AlarmError


@jax.jit
def product(matrix, turns):
    """A power of a matrix: so large a program that JAX does not run it at once, in the thread that calls."""
    return jax.lax.fori_loop(0, turns, lambda _, power: jnp.tanh(matrix @ power), matrix)


def slow(seconds):
    """An array that is ready after about so long, or longer."""
    matrix, turns = jnp.eye(200), 1
    product(matrix, turns).block_until_ready()
    while True:
        started = time.perf_counter()
        product(matrix, turns).block_until_ready()
        if (took := time.perf_counter() - started) > 0.05:
            return product(matrix, round(seconds / took * turns))
        turns *= 4


@needs_timers
def test_an_exception_of_a_signals_handler_ends_the_wait():
    def ring(*_):
        raise AlarmError

    number, before = slow(1.0), signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(AlarmError):
            wait_until_ready({"a": number, "b": 1.0})
        assert not number.is_ready()
    finally:
        signal.signal(signal.SIGALRM, before)
    wait_until_ready(number)
    assert number.is_ready()


def test_any_thread_may_wait():
    number = slow(0.2)
    thread = Thread(target=wait_until_ready, args=(number,))
    thread.start()
    thread.join()
    assert number.is_ready()


def test_a_wait_is_one_wait():
    """The core that it would take to look at arrays again and again is the sampler's."""
    number = slow(1.0)
    before = time.thread_time()
    wait_until_ready(number)
    assert time.thread_time() - before < 0.01


def test_a_thread_is_waited_for_at_the_end_where_a_signal_comes_as_it_starts(monkeypatch):
    monkeypatch.setattr(waiting, "Thread", Interrupted)
    left = []
    monkeypatch.setattr(waiting, "_left", left)
    with pytest.raises(AlarmError):
        wait_until_ready(slow(0.5))
    (thread,) = left
    thread.join()


def test_where_no_thread_can_be_started_the_main_thread_waits(monkeypatch):
    class Refused(Thread):
        def start(self):
            raise RuntimeError("can't start new thread")

    monkeypatch.setattr(waiting, "Thread", Refused)
    number = slow(0.2)
    wait_until_ready(number)
    assert number.is_ready()


def test_threads_that_have_ended_are_forgotten(monkeypatch):
    left = [Thread(target=lambda: None) for _ in range(3)]
    monkeypatch.setattr(waiting, "_left", left)
    monkeypatch.setattr(waiting, "Thread", Interrupted)
    with pytest.raises(AlarmError):
        wait_until_ready(slow(0.2))
    (thread,) = left
    thread.join()


PROGRAM = """
import signal
import test_waiting
from mongepatch.chains.waiting import wait_until_ready

def ring(*_):
    raise test_waiting.AlarmError

number = test_waiting.slow(1.0)
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.1)
try:
    wait_until_ready(number)
except test_waiting.AlarmError:
    print("left", flush=True)
"""


INTERRUPTED_AT_ITS_END = """
import os
from threading import Timer
timer = Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
timer.daemon = True
timer.start()
"""


def run_to_the_end(program):
    """What became of a process that runs the program."""
    call, folder = [sys.executable, "-c", program], Path(__file__).parent
    return subprocess.run(call, capture_output=True, text=True, timeout=120, cwd=folder, check=False)


@needs_timers
def test_ctrl_c_ends_a_process_that_waits_for_what_was_left():
    began = time.monotonic()
    ended = run_to_the_end(PROGRAM.replace("slow(1.0)", "slow(60.0)") + INTERRUPTED_AT_ITS_END)
    assert (ended.returncode, ended.stdout) == (130, "left\n")
    assert time.monotonic() - began < 50


@needs_timers
def test_a_process_that_leaves_a_wait_ends_without_an_error():
    ended = run_to_the_end(PROGRAM)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "left\n", "")
