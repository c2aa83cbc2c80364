"""The release workflow: off by default, and made of our own scripts and targets."""

import re
import subprocess
from typing import Any

import yaml

from deploy.manifests import ROOT

WORKFLOW = ROOT / ".github" / "workflows" / "release.yaml"
# Without the resolver of YAML 1.1, for which the key `on` is true.
TREE: dict[str, Any] = yaml.load(WORKFLOW.read_text(), yaml.BaseLoader)
JOBS: dict[str, Any] = TREE["jobs"]
SCRIPTS = [step["run"] for job in JOBS.values() for step in job["steps"] if "run" in step]


def test_release_runs_for_tags_and_only_when_switched_on() -> None:
    assert TREE["on"] == {"push": {"tags": ["v*"]}}
    for job in JOBS.values():
        assert job["if"] == "vars.LYNQ_RELEASE == 'true'"


def test_jobs_have_only_the_rights_that_they_need() -> None:
    assert TREE["permissions"] == {}
    assert JOBS["image"]["permissions"] == {"contents": "read"}
    assert JOBS["build"]["permissions"] == {"contents": "read"}
    assert JOBS["sign"]["permissions"] == {
        "contents": "read",
        "id-token": "write",
        "attestations": "write",
    }
    assert JOBS["publish"]["permissions"] == {"contents": "write"}


def test_job_that_signs_runs_nothing_but_what_is_locked() -> None:
    scripts = [step["run"] for step in JOBS["sign"]["steps"] if "run" in step]
    assert not re.search(r"\bmake\b|npm|docker|curl|git ", "\n".join(scripts))
    (install,) = (script for script in scripts if "pip" in script)
    assert "--require-hashes" in install
    assert "--requirement constraints-sign.txt" in install
    lock = (ROOT / "constraints-sign.txt").read_text().splitlines()
    pins = [number for number, line in enumerate(lock) if not line.startswith(" ")]
    assert any(lock[number].startswith("sigstore==") for number in pins)
    for number in pins:
        assert re.match(r"[\w.-]+==\S+( ; .+)? \\$", lock[number])
        assert lock[number + 1].startswith("    --hash=sha256:")


def test_signed_files_have_provenance() -> None:
    (step,) = (step for step in JOBS["sign"]["steps"] if "attest" in step.get("uses", ""))
    assert step["with"] == {"subject-path": "dist/*"}
    assert JOBS["publish"]["needs"] == "sign"


def test_actions_are_pinned_by_commit() -> None:
    """Name each action that a tag, which can be moved, chooses."""
    folders = (WORKFLOW.parent, ROOT / "deploy" / "action")
    files = [file for folder in folders for file in folder.iterdir() if file.suffix != ".py"]
    used = [
        (file.name, action)
        for file in files
        for action in re.findall(r"uses: +(\S+)", file.read_text())
        if "YOUR-ORGANIZATION" not in action and not action.startswith("./")
    ]
    assert used
    assert [each for each in used if not re.search(r"@[0-9a-f]{40}$", each[1])] == []


def test_pinned_actions_have_one_commit_and_say_their_version() -> None:
    text = WORKFLOW.read_text()
    pins = re.findall(r"uses: (\S+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)$", text, re.MULTILINE)
    assert len(pins) == text.count("uses: ")
    assert len(set(pins)) == len({name for name, _, _ in pins})
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text())["updates"]
    assert updates[0]["package-ecosystem"] == "github-actions"


def test_only_the_step_that_pushes_gets_the_password_of_the_registry() -> None:
    steps = [step for job in JOBS.values() for step in job["steps"]]
    assert [step["name"] for step in steps if "secrets." in str(step)] == ["Push image and chart"]
    assert all("env" not in job or "secrets." not in str(job["env"]) for job in JOBS.values())


def test_scripts_parse_and_contain_no_expressions() -> None:
    for script in SCRIPTS:
        # An expression is replaced before the shell parses the script: use an environment variable.
        assert "${{" not in script
        subprocess.run(["bash", "-n", "-c", script], check=True)


def test_targets_and_scripts_exist() -> None:
    text = "\n".join(SCRIPTS)
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"make ([a-z-]+)", text))
    assert targets == {"dist", "image", "image-test", "chart"}
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for path in re.findall(r"(?:scripts|tools)/[\w.-]+", text):
        assert (ROOT / path).is_file(), path


def test_release_notes_are_the_section_of_a_version() -> None:
    script = str(ROOT / "scripts" / "release-notes")
    missing = subprocess.run([script, "99.0.0"], capture_output=True, text=True, check=False)
    assert missing.returncode == 1
    assert "CHANGELOG.md has no section for version 99.0.0" in missing.stderr
    unreleased = subprocess.run([script, "Unreleased"], capture_output=True, text=True, check=False)
    assert unreleased.stdout.lstrip().startswith("#"), unreleased.stderr
