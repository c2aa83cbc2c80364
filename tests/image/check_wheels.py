"""The locked packages have wheels, with accepted hashes, for both platforms of the image."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.manifests import DEPLOY, ROOT

REQUIREMENTS = (DEPLOY / "requirements.txt").read_text()


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_every_locked_package_has_a_wheel(machine: str, tmp_path: Path) -> None:
    script, python = ROOT / "scripts" / "wheelhouse", Path(sys.executable).parent
    command = [str(script), str(python), str(tmp_path), machine]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    locked = re.findall(r"^([\w.-]+)==", REQUIREMENTS, re.MULTILINE)
    wheels = {wheel.name.partition("-")[0].lower() for wheel in tmp_path.glob("*.whl")}
    assert {name.replace("-", "_") for name in locked} <= wheels
