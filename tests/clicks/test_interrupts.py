"""Ctrl-C ends a fit that would take for ever."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

SCRIPT = """
from rankloop.clicks.log.log import ClickLog
from rankloop.clicks.models.{module} import {model}
log = ClickLog.from_pages([(q, [1, 2, 3], [2]) for q in range(1000)])
print("ready", flush=True)
try:
    {model}(iterations=10**9).fit(log)
except KeyboardInterrupt:
    print("ended")
"""


@pytest.mark.slow
@pytest.mark.parametrize("model", ["PBM", "DBN", "TrustBias"])
def test_an_interrupt_ends_a_long_fit(model):
    module = {"PBM": "pbm", "DBN": "dbn", "TrustBias": "trust"}[model]
    script = SCRIPT.format(module=module, model=model)
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            assert process.communicate(timeout=60)[0] == "ended\n"
        finally:
            process.kill()
