"""The wheel in a clean environment: its commands need the locked runtime dependencies only."""

import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from deploy.manifests import DEPLOY, ROOT, VERSION

SAMPLES = DEPLOY / "samples"


def run(*command: str | Path) -> str:
    # Neither the checkout nor the environment of the tests may help.
    environment = {"PATH": "/usr/bin:/bin", "HOME": os.environ.get("HOME", "/")}
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd="/"
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def wheel(folder: Path) -> Path:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory"]
    subprocess.run([*build, str(folder)], cwd=ROOT, capture_output=True, check=True)
    (path,) = folder.glob("*.whl")
    return path


def copy_runtime_packages(target: Path) -> None:
    """Copy the locked packages from the environment of the tests, as pip installed them."""
    command = [sys.executable, str(ROOT / "tools" / "runtime.py")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name in listed.split():
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            # For another platform.
            continue
        for file in files:
            if ".." not in file.parts:
                (target / file).parent.mkdir(parents=True, exist_ok=True)
                # With its time, so that the bytecode stays valid.
                shutil.copy2(str(file.locate()), target / file)


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the commands of a new environment with the wheel."""
    folder = tmp_path_factory.mktemp("environment")
    package = wheel(tmp_path_factory.mktemp("wheel"))
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    site = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    copy_runtime_packages(Path(site))
    pip = (sys.executable, "-m", "pip", "--python", str(python))
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", package)
    assert "No broken requirements found" in run(*pip, "check")
    return folder / "bin"


def test_installed_commands_start(commands: Path) -> None:
    assert run(commands / "lynq", "--version") == f"lynq, version {VERSION}\n"
    assert "Usage: lynq [OPTIONS] COMMAND" in run(commands / "lynq", "--help")
    assert "Usage: kubectl lynq [OPTIONS] COMMAND" in run(commands / "kubectl-lynq", "--help")
    # Imports the operator with all its dependencies.
    assert "--leader-elect" in run(commands / "lynq", "run", "--help")


def test_installed_wheel_renders_and_validates(commands: Path) -> None:
    form = SAMPLES / "form-policies.yaml"
    run(commands / "lynq", "validate", "-f", form, "-f", SAMPLES / "hub-sqlite.yaml")
    rendered = run(
        commands / "lynq", "render", "-f", form, "--row", "uid=acme,plan=pro", "-o", "name"
    )
    assert "secret/acme-password" in rendered.lower()


def test_installed_wheel_has_the_pages_of_the_dashboard(commands: Path) -> None:
    script = "import lynq.dashboard; print(lynq.dashboard.__path__[0])"
    static = Path(run(commands / "python", "-c", script).strip()) / "static"
    page = (static / "index.html").read_text()
    assert {path.name for path in static.iterdir()} == {
        "index.html",
        "app.js",
        "app.css",
        "worker.js",
        "icon.svg",
    }
    # A content security policy without inline code shows the page.
    assert "<style" not in page
    assert "style=" not in page
    assert page.count("<script") == page.count("<script src=") == 1
