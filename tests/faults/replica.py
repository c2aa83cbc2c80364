"""An operator process that can be stopped, killed, frozen and restarted."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from faults.recording_proxy import RecordingProxy
from waiting import at_most, eventually


class Replica:
    """Runs `lynq run` behind a recording proxy."""

    def __init__(self, proxy: RecordingProxy, folder: Path, flags: tuple[str, ...]) -> None:
        self.proxy = proxy
        self._log = folder / "log"
        kubeconfig = proxy.kubeconfig(folder)
        self._command = [sys.executable, "-m", "lynq", "run", f"--kubeconfig={kubeconfig}", *flags]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process without waiting for its readiness."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, env=dict(os.environ)
            )

    def signal(self, number: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(number)

    @property
    def pid(self) -> int:
        """The id of the running process."""
        assert self._process
        return self._process.pid

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        self.signal(signal.SIGKILL)
        assert self._process
        self._process.wait()

    async def wait_for_exit(self, *, within: float = 15) -> int:
        """Wait until the process exits; return its exit code."""
        assert self._process
        process = self._process
        await eventually(lambda: process.poll() is not None, within=within)
        return process.returncode

    async def stop(self, *, within: float = 5.0) -> None:
        """Send SIGTERM and expect exit code 0 within these seconds."""
        with at_most(seconds=within):
            self.signal(signal.SIGTERM)
            code = await self.wait_for_exit()
        assert code == 0, self._log

    def kill_if_running(self) -> None:
        """Kill the process unless it has exited."""
        if self._process and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def log(self) -> list[dict[str, Any]]:
        """Return all structured log lines."""
        return [json.loads(line) for line in self._log.read_text().splitlines() if line[:1] == "{"]

    def has_logged(self, message: str) -> bool:
        """Return whether a log line has this message."""
        return any(line.get("msg") == message for line in self.log())
