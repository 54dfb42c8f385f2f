"""Ctrl-C and SIGTERM: draws are kept, and the run can go on."""

import os
import signal
import threading

import jax.numpy as jnp
import pytest

import mongepatch as mp

OPTIONS = {
    "metric": mp.Euclidean(),
    "trajectory": mp.Static(3),
    "step_size": 0.3,
    "draws": 60,
    "chains": 2,
    "progress": False,
}
OBJECTS = {name: OPTIONS[name] for name in ("metric", "trajectory")}


def density(x):
    return -0.5 * (x**2).sum()


def sample(callback=None, **options):
    return mp.sample(density, jnp.zeros(2), callback=callback, **{**OPTIONS, "warmup": 0, **options})


def signals(*numbers, at=10):
    """A callback that sends signals once there are so many draws."""
    left = list(numbers)

    def callback(status):
        while left and status.draws >= at:
            signal.raise_signal(left.pop(0))

    return callback


@pytest.fixture(autouse=True)
def short_chunks(monkeypatch):
    monkeypatch.setattr("mongepatch.chains.runner._CHUNK_SECONDS", 0.0)  # every chunk has one draw


@pytest.fixture(scope="module")
def whole():
    return sample()


def draws_of(tree):
    return tree["posterior"].to_dataset()


def test_ctrl_c_returns_the_draws_so_far_and_says_how_to_go_on(whole):
    with pytest.warns(mp.SamplingWarning, match=r"after 10 of 60 draws.*mp\.extend\(tree, target, draws=50\) goes on"):
        tree = sample(signals(signal.SIGINT))
    assert tree["posterior"].attrs["interrupted"] == 1
    assert whole["posterior"].attrs["interrupted"] == 0
    assert draws_of(tree).equals(draws_of(whole).isel(draw=slice(10)))
    ended = mp.extend(tree, density, draws=50, progress=False, **OBJECTS)
    assert draws_of(ended).equals(draws_of(whole))
    assert ended["posterior"].attrs["interrupted"] == 0


@pytest.mark.filterwarnings("ignore:The run ended at its limit")
def test_a_run_that_was_interrupted_ends_earlier_than_asked_for(whole, tmp_path):
    path = str(tmp_path / "run.zarr")
    with pytest.warns(mp.SamplingWarning, match="after 10 of 60 draws"):
        sample(signals(signal.SIGINT), store=path)
    again = {"progress": False, **OBJECTS}
    with pytest.raises(mp.SettingError, match=r"mp\.resume\(.*, target, draws=10\) ends it.*mp\.open_store\("):
        mp.extend(path, density, draws=5, **again)
    with pytest.raises(mp.SettingError, match=r"has 10 draws .* none is thrown away.*mp\.open_store\("):
        mp.resume(path, density, draws=9, **again)
    with pytest.raises(mp.SettingError, match=r"was to have 60 draws .* mp\.extend\("):
        mp.resume(path, density, draws=61, **again)
    for draws in (10, 17):  # as they are, and after more
        if draws > 10:
            path = str(tmp_path / "another.zarr")
            with pytest.warns(mp.SamplingWarning, match="after 10 of 60 draws"):
                sample(signals(signal.SIGINT), store=path, until=mp.Until(ess=1e9, max_draws=60))
        tree = mp.resume(path, density, draws=draws, **again)
        assert draws_of(tree).equals(draws_of(whole).isel(draw=slice(draws)))
        assert mp.open_store(path)["posterior"].attrs["interrupted"] == 0
        assert draws_of(mp.resume(path, density, **again)).equals(draws_of(tree))  # it has ended
    assert draws_of(mp.extend(path, density, draws=43, **again)).equals(draws_of(whole))


@pytest.mark.filterwarnings("ignore:The chains do not agree")  # there are few draws
def test_an_extension_that_was_interrupted_goes_on_to_its_own_end(tmp_path):
    """Not to that of the run that it extends, whose target is reached."""
    path, again = str(tmp_path / "run.zarr"), {"progress": False, **OBJECTS}
    first = sample(store=path, until=mp.Until(ess=1, rhat=100), draws=400)["posterior"].sizes["draw"]
    assert first < 400
    with pytest.warns(mp.SamplingWarning, match=f"of {first + 30} draws"):
        mp.extend(path, density, draws=30, callback=signals(signal.SIGINT, at=first + 10), **again)
    assert mp.resume(path, density, **again)["posterior"].sizes["draw"] == first + 30


def test_ctrl_c_leaves_a_store_that_goes_on(whole, tmp_path):
    path = str(tmp_path / "run.zarr")
    with pytest.warns(mp.SamplingWarning, match=r"mp\.resume\(\".*run\.zarr\", target\) goes on"):
        tree = sample(signals(signal.SIGINT), store=path)
    assert tree["posterior"].sizes["draw"] == 10
    assert draws_of(mp.resume(path, density, progress=False, **OBJECTS)).equals(draws_of(whole))
    assert mp.open_store(path)["posterior"].attrs["interrupted"] == 0


def test_ctrl_c_twice_stops_at_once_and_leaves_a_store_that_goes_on(whole, tmp_path):
    path = str(tmp_path / "run.zarr")
    with pytest.raises(KeyboardInterrupt):
        sample(signals(signal.SIGINT, signal.SIGINT), store=path)
    assert draws_of(mp.resume(path, density, progress=False, **OBJECTS)).equals(draws_of(whole))


def test_ctrl_c_in_warmup_says_how_to_go_on(tmp_path):
    path = str(tmp_path / "run.zarr")
    expected = sample(warmup=30)
    with pytest.raises(mp.SamplingInterrupted, match=r"in warm-up, after 10 draws, which are stored.*mp\.resume"):
        sample(signals(signal.SIGINT), warmup=30, store=path)
    with pytest.raises(mp.StoreError, match="no draws yet"):
        mp.open_store(path)
    assert draws_of(mp.resume(path, density, progress=False, **OBJECTS)).equals(draws_of(expected))
    with pytest.raises(mp.SamplingInterrupted, match="there is nothing to return"):
        sample(signals(signal.SIGINT), warmup=30)


def test_sigterm_is_handed_on_once_the_draws_are_stored(whole, tmp_path):
    path = str(tmp_path / "run.zarr")
    seen = []

    def note(number, frame):
        seen.append(mp.open_store(path)["posterior"].sizes["draw"])

    before = signal.signal(signal.SIGTERM, note)
    try:
        with pytest.warns(mp.SamplingWarning, match="interrupted after 10"):
            sample(signals(signal.SIGTERM), store=path)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert seen == [10]
    assert draws_of(mp.resume(path, density, progress=False, **OBJECTS)).equals(draws_of(whole))


def test_signals_are_those_of_the_program_again_after_a_run(whole):
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    sample()
    assert handlers == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    found = []
    thread = threading.Thread(target=lambda: found.append(sample()))  # has no signals
    thread.start()
    thread.join()
    assert draws_of(found[0]).equals(draws_of(whole))


@pytest.mark.skipif(os.name != "posix", reason="nohup is of other systems")
def test_a_signal_that_is_ignored_stays_so(whole):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert draws_of(sample(signals(signal.SIGINT))).equals(draws_of(whole))
    finally:
        signal.signal(signal.SIGINT, before)
