"""A signal that does not come in the middle of the main thread's waiting is noticed all the same."""

import asyncio
import signal
import threading
import time

import pytest

from synthesis.cli.running import run_interruptible

LONG = 20.0  # seconds; what would be waited for


def test_a_signal_that_another_thread_receives_ends_the_waiting() -> None:
    def receive() -> None:
        time.sleep(0.2)
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    thread = threading.Thread(target=receive)
    thread.start()
    began = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        run_interruptible(asyncio.sleep(LONG))
    thread.join()
    assert time.monotonic() - began < LONG / 2
    assert signal.set_wakeup_fd(-1) == -1  # left as it was
