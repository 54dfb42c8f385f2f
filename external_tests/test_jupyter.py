"""Interrupting a kernel of Jupyter, while a draw takes minutes."""

import time
from pathlib import Path

import pytest

jupyter_client = pytest.importorskip("jupyter_client")
pytest.importorskip("ipykernel")
TESTS = Path(__file__).parent.parent / "tests" / "sampling"
PATIENCE = 120.0


@pytest.fixture
def kernel():
    manager, client = jupyter_client.manager.start_new_kernel(kernel_name="python3", startup_timeout=PATIENCE)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def told(client, wanted):
    """The first content of the kernel's messages that fits."""
    limit = time.monotonic() + PATIENCE
    while True:
        message = client.get_iopub_msg(timeout=max(0.1, limit - time.monotonic()))
        if wanted(message):
            return message["content"]


def run(client, code):
    """What a cell prints; an error of it is raised here."""
    number = client.execute(code)
    printed = ""
    while True:
        message = client.get_iopub_msg(timeout=PATIENCE)
        kind, content = message["msg_type"], message["content"]
        if message["parent_header"].get("msg_id") != number:
            continue
        assert kind != "error", content["evalue"]
        if kind == "stream":
            printed += content["text"]
        if kind == "status" and content["execution_state"] == "idle":
            return printed


def test_a_second_interrupt_stops_at_once_and_the_kernel_can_resume(kernel, tmp_path):
    manager, client = kernel
    path = str(tmp_path / "run.zarr")
    run(client, f"import sys; sys.path.insert(0, {str(TESTS)!r}); import slow_draw")
    client.execute(f"slow_draw.sample({path!r})")
    told(client, lambda message: "waiting" in message["content"].get("text", ""))
    manager.interrupt_kernel()
    time.sleep(1.0)
    manager.interrupt_kernel()
    begun = time.monotonic()
    assert told(client, lambda message: message["msg_type"] == "error")["ename"] == "KeyboardInterrupt"
    assert time.monotonic() - begun < 10.0
    told(client, lambda message: message["content"].get("execution_state") == "idle")
    time.sleep(1.0)  # a kernel forgets cells that are sent to it right after an error
    assert "2" in run(client, f"print(slow_draw.resume({path!r})['posterior'].sizes['draw'])")
