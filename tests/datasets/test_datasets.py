"""Datasets: every source gives the published numbers, or an error."""

import functools
import http.server
import io
import os
import socket
import sys
import threading
import zipfile
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from helpers import HEAVY, run_python, without

import mongepatch as mp
from mongepatch._cache import cache_folder, keep
from mongepatch.datasets import catalogue, fetch
from mongepatch.datasets.catalogue import CATALOGUE, Download, Entry
from mongepatch.datasets.table import checksum, write_csv

SIZES = {
    "heart": (270, 13, 120),
    "german": (1000, 24, 300),
    "australian": (690, 14, 307),
    "south-german": (1000, 20, 700),
}
IN_PACKAGE = ("heart", "german")
SHARED = Path(__file__).parents[3] / "shared" / "data" / "logistic"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the reference tables are not beside the checkout")


def reference(name):
    return np.loadtxt(SHARED / CATALOGUE[name].csv, delimiter=",", skiprows=1)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    """No test touches the user's folders."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("MONGEPATCH_DATA", raising=False)


def check_sizes(dataset):
    rows, features, ones = SIZES[dataset.name]
    assert dataset.features.shape == (rows, features)
    assert dataset.outcomes.shape == (rows,)
    assert set(dataset.outcomes) == {0, 1}
    assert dataset.outcomes.sum() == ones
    assert len(set(dataset.columns)) == features
    assert dataset.licence == "CC BY 4.0"
    assert "UCI" in dataset.source


@pytest.mark.parametrize("name", IN_PACKAGE)
def test_datasets_of_the_package_load(name):
    dataset = mp.datasets.load(name)
    check_sizes(dataset)
    design = dataset.design
    assert dataset.design_columns == ("intercept", *dataset.columns)
    assert design.shape == (len(dataset.outcomes), len(dataset.design_columns))
    assert (design[:, 0] == 1).all()
    np.testing.assert_allclose(design[:, 1:].std(axis=0, ddof=1), 1.0)


def test_a_dataset_is_a_target():
    dataset = mp.datasets.load("heart")
    target = dataset.target(prior_variance=25.0)
    assert target.coords["column"] == list(dataset.design_columns)
    beta = jnp.linspace(-1.0, 1.0, 14)
    logits = dataset.design @ beta
    expected = dataset.outcomes @ logits - np.logaddexp(0, logits).sum() - 0.5 * beta @ beta / 25
    assert target(beta) == pytest.approx(expected)
    assert dataset.target()(beta) == pytest.approx(expected + 0.5 * beta @ beta * (1 / 25 - 1 / 100))


def test_a_dataset_cannot_be_changed():
    dataset = mp.datasets.load("german")
    for array in (dataset.features, dataset.outcomes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_datasets_need_jax_and_numpy_alone():
    hidden = "".join(without(module) for module in HEAVY)
    done = run_python(hidden + "import mongepatch as mp; print(mp.datasets.load('heart').features.shape)")
    assert done.stdout.strip() == "(270, 13)", done.stderr


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(
        mp.SettingError, match="no dataset 'hart'; the datasets are heart, german, australian, south-german"
    ):
        mp.datasets.load("hart")


@needs_shared
def test_heart_is_the_reference_up_to_scale():
    dataset, expected = mp.datasets.load("heart"), reference("heart")
    np.testing.assert_allclose(dataset.design, mp.targets.standardized_design(expected[:, :-1]), atol=3e-6)
    np.testing.assert_array_equal(dataset.outcomes, expected[:, -1])


@needs_shared
def test_german_is_the_reference():
    dataset, expected = mp.datasets.load("german"), reference("german")
    np.testing.assert_array_equal(dataset.features, expected[:, :-1])
    np.testing.assert_array_equal(dataset.outcomes, expected[:, -1])


@needs_shared
@pytest.mark.parametrize("raw", [False, True], ids=["csv", "raw"])
@pytest.mark.parametrize("name", ["australian", "south-german"])
def test_fetched_datasets_are_read_from_the_users_folder(name, raw, tmp_path, monkeypatch):
    entry, folder = CATALOGUE[name], SHARED
    if raw:  # as UCI has them
        header, *rows = (SHARED / entry.csv).read_text().replace(",", " ").split("\n")
        lines = rows if name == "australian" else [header.replace(" y", " kredit"), *rows]
        folder = tmp_path
        (folder / entry.download.member).write_text("\r\n".join(lines))
    monkeypatch.setenv("MONGEPATCH_DATA", str(folder))
    dataset = mp.datasets.load(name)
    check_sizes(dataset)
    np.testing.assert_array_equal(dataset.features, reference(name)[:, :-1])


# Downloads, the cache and the user's folder, with a small dataset.

NUMBERS = np.array([[1.5, -2.0, 0.0], [0.1, 4.0, 1.0], [3.0, 100.0, 0.0]])
RAW = "1.50 -2 0\r\n0.1 4.0 1\r\n3 1e2 0\r\n"


@pytest.fixture
def tiny(monkeypatch):
    """Adds a dataset with a download address to the catalogue."""

    def put(url):
        entry = Entry("tiny-set", ("a", "b"), 3, 1, checksum(NUMBERS), "nowhere", Download(url, "tiny.dat"))
        monkeypatch.setitem(catalogue.CATALOGUE, "tiny-set", entry)
        return entry

    return put


class Server:
    """A server on loopback that answers every request with `content`, or with 404 where that is None."""

    def __init__(self):
        self.requests, self.content = [], b""
        self._httpd = http.server.HTTPServer(("127.0.0.1", 0), functools.partial(Handler, self))
        self.url = f"http://127.0.0.1:{self._httpd.server_port}/tiny.zip"
        self._thread = threading.Thread(target=self._httpd.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def send(self, text, member="folder/tiny.dat"):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(member, text)
        self.content = buffer.getvalue()

    def close(self):
        self._httpd.shutdown()
        self._httpd.server_close()
        self._thread.join()


class Handler(http.server.BaseHTTPRequestHandler):
    def __init__(self, server, *args):
        self.owner = server
        super().__init__(*args)

    def do_GET(self):
        self.owner.requests.append(self.headers["User-Agent"])
        if self.owner.content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.owner.content)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    yield server
    server.close()


def kept():
    folder = cache_folder("datasets")
    return sorted(file.name for file in folder.iterdir()) if folder.exists() else []


def test_what_was_fetched_is_kept(tiny, server):
    entry = tiny(server.url)
    server.send(RAW)
    for _ in range(3):
        dataset = mp.datasets.load("tiny-set")
        np.testing.assert_array_equal(dataset.features, NUMBERS[:, :-1])
        np.testing.assert_array_equal(dataset.outcomes, [0, 1, 0])
        assert dataset.columns == ("a", "b")
    assert server.requests == [f"mongepatch/{mp.__version__}"]
    assert kept() == ["tiny_set.csv"]
    assert (cache_folder("datasets") / "tiny_set.csv").read_text() == "a,b,y\n1.5,-2,0\n0.1,4,1\n3,100,0\n"
    assert write_csv(NUMBERS, entry) == (cache_folder("datasets") / "tiny_set.csv").read_text()


def test_a_header_of_the_raw_file_is_passed_over(tiny, server):
    tiny(server.url)
    server.send("alpha beta kredit\n" + RAW)
    assert mp.datasets.load("tiny-set").columns == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (RAW.replace("0.1", "01"), r"tiny\.dat of http://127\..* is corrupt: it has the shape"),
        (RAW + "1 2 0\n", r"table of 3 rows and 3 columns.*\(4, 3\)"),
        (RAW.replace("4.0 1", "4.0 0"), "1 in 1 rows"),
        (RAW.replace("4.0", "four"), "not a table of numbers"),
        (RAW.replace("4.0 1", "4.0"), "not a table of numbers"),
        ("", "its shape is"),
    ],
)
def test_a_corrupt_file_is_refused_and_never_kept(text, message, tiny, server):
    tiny(server.url)
    server.send(text)
    with pytest.raises(mp.DataError, match=message):
        mp.datasets.load("tiny-set")
    assert kept() == []


def test_what_is_no_zip_file_or_holds_another_is_refused(tiny, server):
    tiny(server.url)
    server.content = b"<html>Please log in to the network of this hotel.</html>"
    with pytest.raises(mp.DataError, match=r"tiny\.zip is not a zip file that holds tiny\.dat"):
        mp.datasets.load("tiny-set")
    server.send(RAW, member="other.dat")
    with pytest.raises(mp.DataError, match=r"tiny\.zip is not a zip file that holds tiny\.dat"):
        mp.datasets.load("tiny-set")
    assert kept() == []


def test_a_corrupt_cache_is_fetched_again(tiny, server):
    tiny(server.url)
    server.send(RAW)
    keep(cache_folder("datasets") / "tiny_set.csv", "a,b,y\n1.5,-2,0\n0.1,4,1\n")
    assert mp.datasets.load("tiny-set").features.shape == (3, 2)
    assert (cache_folder("datasets") / "tiny_set.csv").read_text().endswith("3,100,0\n")


def test_a_cache_that_cannot_be_written_to_is_done_without(tiny, server, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    tiny(server.url)
    server.send(RAW)
    assert mp.datasets.load("tiny-set").features.shape == (3, 2)


def both_ways_out(folder):
    return rf"'tiny-set' could not be downloaded.*Connect.*once.*{folder}.*tiny\.dat or tiny_set\.csv.*MONGEPATCH_DATA"


def test_offline_names_both_ways_out(tiny, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    tiny(f"http://127.0.0.1:{port}/tiny.zip")
    with pytest.raises(mp.DataError, match=both_ways_out(tmp_path)) as caught:
        mp.datasets.load("tiny-set")
    assert isinstance(caught.value, OSError)


def test_a_file_that_is_gone_names_both_ways_out(tiny, server, tmp_path):
    tiny(server.url)
    server.content = None
    with pytest.raises(mp.DataError, match=rf"404.*{tmp_path}"):
        mp.datasets.load("tiny-set")


def test_a_silent_server_is_not_waited_for_forever(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setattr(fetch, "TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        tiny(f"http://127.0.0.1:{silent.getsockname()[1]}/tiny.zip")
        with pytest.raises(mp.DataError, match=both_ways_out(tmp_path)):
            mp.datasets.load("tiny-set")


@pytest.mark.parametrize("file", ["tiny.dat", "tiny_set.csv"])
def test_the_users_own_copy_needs_no_network(file, tiny, tmp_path, monkeypatch):
    entry = tiny("http://127.0.0.1:1/tiny.zip")
    (tmp_path / file).write_text(RAW if file == "tiny.dat" else "\ufeff" + write_csv(NUMBERS, entry), encoding="utf-8")
    monkeypatch.setenv("MONGEPATCH_DATA", str(tmp_path))
    np.testing.assert_array_equal(mp.datasets.load("tiny-set").features, NUMBERS[:, :-1])
    assert kept() == []


def test_a_folder_without_the_file_is_passed_over(tiny, server, tmp_path, monkeypatch):
    tiny(server.url)
    server.send(RAW)
    monkeypatch.setenv("MONGEPATCH_DATA", str(tmp_path))
    assert mp.datasets.load("tiny-set").features.shape == (3, 2)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b,y\n1.5,-2,0\n0.1,5,1\n3,100,0\n", r"tiny_set\.csv is corrupt"),
        ("b,a,y\n1.5,-2,0\n0.1,4,1\n3,100,0\n", r"tiny_set\.csv is not .*its header must be a,b,y"),
        ("", "its header must be a,b,y"),
    ],
)
def test_the_users_own_copy_is_checked(content, message, tiny, tmp_path, monkeypatch):
    tiny("http://127.0.0.1:1/tiny.zip")
    (tmp_path / "tiny_set.csv").write_text(content)
    monkeypatch.setenv("MONGEPATCH_DATA", str(tmp_path))
    with pytest.raises(mp.DataError, match=message):
        mp.datasets.load("tiny-set")


def test_the_users_folder_must_be_one(tiny, tmp_path, monkeypatch):
    tiny("http://127.0.0.1:1/tiny.zip")
    monkeypatch.setenv("MONGEPATCH_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(mp.DataError, match="MONGEPATCH_DATA must name a folder"):
        mp.datasets.load("tiny-set")


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "file.csv"
    keep(path, "old")

    def fail(*args):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        keep(path, "new")
    assert path.read_text() == "old"
    assert [file.name for file in path.parent.iterdir()] == ["file.csv"]


@pytest.mark.parametrize(
    ("platform", "folder"),
    [("linux", ".cache"), ("darwin", "Library/Caches"), ("win32", "AppData/Local")],
)
def test_the_cache_is_in_the_customary_place(platform, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # to be ignored, says its specification
    assert cache_folder("datasets") == tmp_path / folder / "mongepatch" / "datasets"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    assert cache_folder("datasets") == tmp_path / "elsewhere" / "mongepatch" / "datasets"
