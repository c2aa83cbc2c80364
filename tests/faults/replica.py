"""One process of the operator, to be stopped, killed, frozen and started again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from faults.recording_proxy import RecordingProxy
from waiting import eventually


class Replica:
    """Runs `lynq run` behind a door."""

    def __init__(self, door: RecordingProxy, folder: Path, flags: tuple[str, ...]) -> None:
        self.door = door
        self._log = folder / "log"
        kubeconfig = door.kubeconfig(folder)
        self._command = [sys.executable, "-m", "lynq", "run", f"--kubeconfig={kubeconfig}", *flags]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it; it works when it is ready to."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, env=dict(os.environ)
            )

    def signal(self, number: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(number)

    def kill(self) -> None:
        """End it as the kernel ends a process: in the middle of whatever it does."""
        self.signal(signal.SIGKILL)
        assert self._process
        self._process.wait()

    async def ended(self, *, within: float = 15) -> int:
        """Wait until it has ended, and return its exit code."""
        assert self._process
        process = self._process
        await eventually(lambda: process.poll() is not None, within=within)
        return process.returncode

    async def stop(self) -> float:
        """Ask it to end; return after how many seconds it did, with success."""
        began = time.monotonic()
        self.signal(signal.SIGTERM)
        code = await self.ended()
        assert code == 0, self.log()
        return time.monotonic() - began

    def end(self) -> None:
        """Leave nothing behind."""
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def log(self) -> list[dict[str, Any]]:
        """Return what it said."""
        return [json.loads(line) for line in self._log.read_text().splitlines() if line[:1] == "{"]

    def says(self, message: str) -> bool:
        """Return whether it said so."""
        return any(line.get("msg") == message for line in self.log())
