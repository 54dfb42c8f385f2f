"""Stores of runs: what is written is read again, and what is damaged is never shown as if it were right."""

import contextlib
import errno
import json
import multiprocessing
import warnings
from hashlib import blake2b

import numpy as np
import pytest
import xarray

import mongepatch as mp
from mongepatch.store import Container, RunStore, files_at, open_store
from mongepatch.store.container import pack, unpack
from mongepatch.store.files import Folder

zarr = pytest.importorskip("zarr")
GROUPS = ("posterior", "sample_stats")
CHAINS, DRAWS = 2, 19


def draws(seed, count=DRAWS):
    rng = np.random.default_rng(seed)
    return {
        "posterior/x": rng.normal(size=(CHAINS, count, 3)),
        "posterior/n": rng.integers(0, 9, size=(CHAINS, count)),
        "sample_stats/lp": rng.normal(size=(CHAINS, count)),
        "sample_stats/diverging": rng.random((CHAINS, count)) < 0.5,
    }


def tree_of(values):
    """The tree that a store of these draws should open as."""
    groups = {}
    for path, array in values.items():
        group, name = path.split("/")
        dims = ("chain", "draw", "axis")[: array.ndim]
        labels = {"chain": np.arange(CHAINS), "draw": np.arange(array.shape[1])}
        dataset = groups.setdefault(group, xarray.Dataset(coords=labels, attrs={"made_by": "a test"}))
        groups[group] = dataset.assign({name: (dims, array)})
    groups["posterior"] = groups["posterior"].assign_coords(axis=["a", "b", "c"])
    groups["observed_data"] = xarray.Dataset({"y": ("site", np.array([1.5, 2.5]))})
    return xarray.DataTree.from_dict(groups)


def write(location, seed=0, *, parts=(1, 6, 12)):
    """A finished run, written in parts."""
    values = draws(seed)
    store = RunStore.create(files_at(location), {"key": np.arange(2)}, {"seed": seed})
    store.add_entry({"rows": np.ones(3)}, {"call": 0})
    store.begin_draws(Container({"scale": np.ones(2)}, {}), tree_of(values), GROUPS, 4)
    done = 0
    for count in parts:
        part = {path: array[:, done : done + count] for path, array in values.items()}
        done += count
        store.append(part, {"points": np.full(CHAINS, done)}, {"made": done})
    store.finish({"posterior": {"time": 1.5}}, {"points": np.full(CHAINS, done)}, {"made": done})
    store.close()
    return values


@pytest.mark.parametrize("kind", ["folder", "memory", "fsspec", "obstore"])
def test_what_is_written_is_read_again(kind, tmp_path):
    if kind == "obstore":
        obstore = pytest.importorskip("obstore")
        location = zarr.storage.ObjectStore(obstore.store.MemoryStore())
    elif kind == "fsspec":
        pytest.importorskip("fsspec")
        location = f"memory://{tmp_path.name}/run.zarr"
    else:
        location = zarr.storage.MemoryStore() if kind == "memory" else tmp_path / "run.zarr"
    expected = tree_of(write(location))
    opened = open_store(location)
    assert {name: opened[name].to_dataset().equals(expected[name].to_dataset()) for name in expected.children} == (
        dict.fromkeys(expected.children, True)
    )
    assert opened["posterior"].attrs == {"made_by": "a test", "time": 1.5}
    place = files_at(location).zarr_store()
    assert xarray.open_datatree(place, engine="zarr").identical(opened)  # without us
    single = zarr.open_group(place, path="posterior", mode="r", use_consolidated=False)
    np.testing.assert_array_equal(single["x"][...], expected["posterior"]["x"])
    reopened = RunStore.reopen(files_at(location), write=True)
    assert reopened.draws == DRAWS
    assert reopened.state.facts == {"made": DRAWS}
    assert reopened.entries == 0  # warm-up is over
    reopened.close()
    with pytest.raises(mp.StoreError, match="holds a run already"):
        write(location)


def test_nothing_but_a_run_is_opened(tmp_path):
    with pytest.raises(mp.StoreError, match="holds no run"):
        open_store(tmp_path / "nothing.zarr")
    with pytest.raises(mp.SettingError, match=r'"run\.zarr"'):
        open_store(3)


def test_a_store_of_another_version_is_refused(tmp_path):
    write(tmp_path)
    for number in (0, 1):
        path = tmp_path / "_mongepatch" / f"checkpoint-{number}"
        other = path.read_bytes()[:-32].replace(b"mongepatch-store 1\n", b"mongepatch-store 2\n")
        path.write_bytes(other + blake2b(other, digest_size=32).digest())
    with pytest.raises(mp.OtherRunError, match="version 2 of the store's format"):
        open_store(tmp_path)


def test_files_hold_numbers_and_never_objects():
    whole = pack({"a": np.arange(3.0)}, {"b": 1})
    assert unpack(whole, "file").facts == {"b": 1}
    objects = pack({"a": np.arange(3.0)}, {}).replace(b"<f8", b"|O8")
    signed = objects[:-32] + blake2b(objects[:-32], digest_size=32).digest()
    with pytest.raises(mp.DamagedStoreError):
        unpack(signed, "file")


def test_a_full_disk_is_told_and_what_was_complete_stays(tmp_path, monkeypatch):
    values = draws(0)
    store = RunStore.create(files_at(tmp_path), {}, {})
    store.begin_draws(Container({}, {}), tree_of(values), GROUPS, 4)
    store.append({path: array[:, :7] for path, array in values.items()}, {}, {"made": 7})
    store.wait()

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("mongepatch.store.files.tempfile.mkstemp", full)
    store.append({path: array[:, 7:] for path, array in values.items()}, {}, {"made": DRAWS})
    with pytest.raises(mp.StoreError, match=r"the disk is full.*mp\.resume"):
        store.close()
    np.testing.assert_array_equal(open_store(tmp_path)["posterior"]["x"], values["posterior/x"][:, :7])


def hold(path, ready, leave):
    store = RunStore.reopen(files_at(path), write=True)
    ready.set()
    leave.wait(60)
    store.close()


def test_two_processes_do_not_write_to_one_store_and_a_dead_one_does_not_hold_it(tmp_path):
    write(tmp_path)
    context = multiprocessing.get_context("spawn")
    ready, leave = context.Event(), context.Event()
    process = context.Process(target=hold, args=(tmp_path, ready, leave))
    process.start()
    assert ready.wait(60)
    with pytest.raises(mp.LockedStoreError, match="another run writes to it"):
        RunStore.reopen(files_at(tmp_path), write=True)
    assert open_store(tmp_path)["posterior"].sizes["draw"] == DRAWS  # readers may look
    process.kill()
    process.join()
    RunStore.reopen(files_at(tmp_path), write=True).close()


def test_a_location_without_locks_is_leased_for_some_time(monkeypatch):
    memory = zarr.storage.MemoryStore()
    write(memory)
    holder = RunStore.reopen(files_at(memory), write=True)
    with pytest.raises(mp.LockedStoreError, match="or died less than 90 seconds ago"):
        RunStore.reopen(files_at(memory), write=True)
    monkeypatch.setattr("mongepatch.store.lock.time.time", lambda: 2e10)  # much later
    RunStore.reopen(files_at(memory), write=True).close()
    holder.close()


def corrupted(rng, files, other):
    """Some files, changed in one of many ways: the content of each by its name, None where it is deleted."""
    names = sorted(files)
    first, second = rng.choice(len(names), 2, replace=False)
    name, content = names[first], bytearray(files[names[first]])
    place = int(rng.integers(0, max(1, len(content))))
    kind = rng.choice(["flip", "truncate", "delete", "swap", "zeros", "longer", "other"])
    if kind == "flip" and content:
        content[place] ^= 1 << int(rng.integers(0, 8))
    changed = {
        "flip": {name: bytes(content)},
        "truncate": {name: bytes(content[:place])},
        "delete": {name: None},
        "swap": {name: files[names[second]], names[second]: files[name]},
        "zeros": {name: bytes(len(content))},
        "longer": {name: bytes(content) + b"\0"},
        "other": {name: other.get(name)},
    }
    return kind, changed[str(kind)]


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_damage_is_told_or_does_no_harm(count, tmp_path):
    rng = np.random.default_rng(count)
    path, expected = tmp_path / "run.zarr", tree_of(write(tmp_path / "run.zarr"))
    write(tmp_path / "other.zarr", seed=1)
    files = {name: (path / name).read_bytes() for name in Folder(path).names("")}
    other = {name: (tmp_path / "other.zarr" / name).read_bytes() for name in Folder(tmp_path / "other.zarr").names("")}
    told = 0
    for _ in range(count):
        kind, changed = corrupted(rng, files, other)
        for name, content in changed.items():
            (path / name).unlink() if content is None else (path / name).write_bytes(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", mp.SamplingWarning)  # a checkpoint may be damaged
                tree = open_store(path)
                for group in GROUPS:
                    found = tree[group].to_dataset().load()
                    assert found.sizes["draw"] >= 7, (kind, list(changed))  # at least the checkpoint before the last
                    whole = expected[group].to_dataset().isel(draw=slice(found.sizes["draw"]))
                    assert found.equals(whole), (kind, list(changed))
        except mp.StoreError:
            told += 1
        for name in changed:
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(files[name])
    assert told > count / 4


@pytest.mark.parametrize("count", [20, pytest.param(200, marks=pytest.mark.slow)])
def test_damage_in_warmup_is_told_or_does_no_harm(count, tmp_path):
    rng = np.random.default_rng(count)
    store = RunStore.create(files_at(tmp_path), {"key": np.arange(2)}, {"seed": 0})
    for number in range(3):
        store.add_entry({"rows": np.full(5, number)}, {"call": number})
    store.close()
    files = {name: (tmp_path / name).read_bytes() for name in Folder(tmp_path).names("")}
    for _ in range(count):
        _, changed = corrupted(rng, files, {})
        for name, content in changed.items():
            (tmp_path / name).unlink() if content is None else (tmp_path / name).write_bytes(content)
        with warnings.catch_warnings(), contextlib.suppress(mp.DamagedStoreError, mp.OtherRunError):
            warnings.simplefilter("ignore", mp.SamplingWarning)
            with contextlib.closing(RunStore.reopen(files_at(tmp_path), write=True)) as reopened:
                calls = [(entry.facts["call"], entry.arrays["rows"].tolist()) for entry in reopened.read_entries()]
                assert calls == [(number, [number] * 5) for number in range(len(calls))]
                assert len(calls) >= 2
        for name in changed:
            (tmp_path / name).write_bytes(files[name])


def test_metadata_is_json_that_anybody_can_read(tmp_path):
    write(tmp_path)
    root = json.loads((tmp_path / "zarr.json").read_text())
    assert root["zarr_format"] == 3
    assert root["consolidated_metadata"]["metadata"]["posterior/x"]["shape"] == [CHAINS, DRAWS, 3]
