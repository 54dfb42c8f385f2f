"""Ctrl-C and a scheduler's SIGTERM: the first ends a run after its chunk, a second Ctrl-C at once."""

import signal
import threading
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While this context is open, the first signal is a request to stop, which somebody has to look at.

    A second Ctrl-C raises, also while a chunk runs (see `chains.waiting`); what is compiled has to end first. Signals
    belong to the main thread. In any other, nothing changes.
    """

    def __init__(self) -> None:
        self.received: int | None = None
        """The signal that asked to stop."""
        self._before: dict[int, Any] = {}

    @property
    def requested(self) -> bool:
        """Whether the run should end after this chunk."""
        return self.received is not None

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in _SIGNALS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):  # as under nohup, or set outside Python
                    self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def deliver(self) -> None:
        """Once everything is stored: hand a SIGTERM on to whoever would have had it, by default to end the process."""
        self.__exit__()
        if self.received == signal.SIGTERM:
            signal.raise_signal(signal.SIGTERM)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.received = number
