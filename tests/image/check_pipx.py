"""The wheel in dist, installed by pip and pipx from the package index of this machine."""

import subprocess
import sys
from pathlib import Path

from deploy.manifests import ROOT, VERSION

WHEEL = ROOT / "dist" / f"lynq-{VERSION}-py3-none-any.whl"


def run(*command: str) -> str:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout


def environment(folder: Path, *packages: str) -> Path:
    """Create an environment with these packages; returns the folder of its commands."""
    run(sys.executable, "-m", "venv", str(folder))
    run(str(folder / "bin" / "pip"), "install", "--quiet", *packages)
    return folder / "bin"


def test_pip_installs_the_wheel_with_its_dependencies(tmp_path: Path) -> None:
    commands = environment(tmp_path, str(WHEEL))
    assert run(str(commands / "lynq"), "--version") == f"lynq, version {VERSION}\n"


def test_pipx_runs_the_wheel(tmp_path: Path) -> None:
    pipx = environment(tmp_path, "pipx") / "pipx"
    version = run(str(pipx), "run", "--no-cache", "--spec", str(WHEEL), "lynq", "--version")
    assert version == f"lynq, version {VERSION}\n"
