"""Ctrl-C in a terminal, while a draw takes minutes."""

import os
import select
import subprocess
import sys
import time

import pytest
import slow_draw

pty = pytest.importorskip("pty")
PATIENCE = 120.0


def read_until(terminal, words):
    """Read what a terminal shows until it shows these words."""
    shown, limit = "", time.monotonic() + PATIENCE
    while words not in shown:
        ready, _, _ = select.select([terminal], [], [], max(0.0, limit - time.monotonic()))
        assert ready, shown
        shown += os.read(terminal, 4096).decode()
    return shown


@pytest.mark.filterwarnings("ignore::mongepatch.SamplingWarning")  # two draws
def test_a_second_ctrl_c_ends_the_process_at_once_and_the_store_goes_on(tmp_path):
    path = str(tmp_path / "run.zarr")
    terminal, end = pty.openpty()
    command = [sys.executable, slow_draw.__file__, path]
    process = subprocess.Popen(command, stdin=end, stdout=end, stderr=end, start_new_session=True)
    os.close(end)
    try:
        read_until(terminal, "waiting")
        os.write(terminal, b"\x03")
        with pytest.raises(subprocess.TimeoutExpired):  # the first one waits for the draw
            process.wait(1.0)
        os.write(terminal, b"\x03")
        read_until(terminal, "KeyboardInterrupt")
        assert process.wait(10.0) in (130, -2)
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
    assert slow_draw.resume(path)["posterior"].sizes["draw"] == 2
