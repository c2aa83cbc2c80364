"""The demo as a process."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from waiting import eventually


async def test_demo_completes_all_steps_and_cleans_up(tmp_path: Path) -> None:
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    kept = {key: value for key, value in os.environ.items() if key != "KUBECONFIG"}
    home = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    result = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-m", "lynq", "demo", "--exit"],
        env={**kept, **home, "XDG_CACHE_HOME": cache},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert sum(line.startswith("   done in ") for line in lines) == 5
    assert "beta: no node" in result.stdout
    assert "The dashboard is at http://127.0.0.1:" in result.stdout
    broken = result.stdout.partition("4. corp")[2].partition("5. corp")[0]
    assert "replicas" in broken, broken
    assert not (tmp_path / "state" / "lynq" / "demo").exists()
    assert list((tmp_path / "state" / "lynq" / "clusters").iterdir()) == []
    await eventually(lambda: str(tmp_path) not in _commands())


def _commands() -> str:
    """Return the command lines of all processes."""
    lines = []
    for process in Path("/proc").iterdir():
        try:
            lines.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except (OSError, UnicodeDecodeError):
            continue
    return "\n".join(lines)
