"""Generated CRDs: files in deploy/crds, names, printer columns."""

from pathlib import Path

import pytest
import yaml

from lynq.api import crds

DEPLOYED = Path(__file__).parents[3] / "deploy" / "crds"


def columns(kind: str, *, wide: bool) -> dict[str, tuple[str, str]]:
    crd = next(crd for crd in crds.build() if crd["spec"]["names"]["kind"] == kind)
    return {
        column["name"]: (column["type"], column["jsonPath"])
        for column in crd["spec"]["versions"][0]["additionalPrinterColumns"]
        if wide or "priority" not in column
    }


def condition(of: str, show: str) -> tuple[str, str]:
    return "string", f".status.conditions[?(@.type=='{of}')].{show}"


AGE = ("date", ".metadata.creationTimestamp")


def test_files_in_deploy_are_up_to_date() -> None:
    assert crds.stale(DEPLOYED) == [], "run `make crds`"


def test_crd_directory_has_no_other_files() -> None:
    assert {path.name for path in DEPLOYED.iterdir()} == {name for name, _ in crds.files()}


def test_files_match_the_built_objects() -> None:
    loaded = [yaml.safe_load(content) for _, content in crds.files()]
    assert loaded == crds.build()


def test_generation_is_deterministic() -> None:
    assert list(crds.files()) == list(crds.files())


def test_kind_names_match_the_go_operator() -> None:
    assert [name for name, _ in crds.files()] == [
        "operator.lynq.sh_lynqhubs.yaml",
        "operator.lynq.sh_lynqforms.yaml",
        "operator.lynq.sh_lynqnodes.yaml",
    ]


def test_check_passes_after_write_and_fails_after_edit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    directory = tmp_path / "crds"
    assert crds.main([str(directory)]) == 0
    assert crds.main(["--check", str(directory)]) == 0

    changed = directory / "operator.lynq.sh_lynqforms.yaml"
    changed.write_text(changed.read_text().replace("hubId", "hubID"))

    assert crds.main(["--check", str(directory)]) == 1
    assert "operator.lynq.sh_lynqforms.yaml" in capsys.readouterr().err


def test_check_of_empty_directory_fails_without_writing(tmp_path: Path) -> None:
    assert crds.main(["--check", str(tmp_path)]) == 1
    assert list(tmp_path.iterdir()) == []


def test_hub_columns_show_counters() -> None:
    assert columns("LynqHub", wide=False) == {
        "Templates": ("integer", ".status.referencingTemplates"),
        "Desired": ("integer", ".status.desired"),
        "Ready": ("integer", ".status.ready"),
        "Failed": ("integer", ".status.failed"),
        "Conditions": condition("Ready", "reason"),
        "Age": AGE,
    }


def test_form_columns_show_hub_and_rollout() -> None:
    assert columns("LynqForm", wide=False) == {
        "Hub": ("string", ".spec.hubId"),
        "Total": ("integer", ".status.totalNodes"),
        "Ready": ("integer", ".status.readyNodes"),
        "Rollout": ("string", ".status.rollout.phase"),
        "Updating": ("integer", ".status.rollout.updatingNodes"),
        "Applied": condition("Applied", "status"),
        "Age": AGE,
    }


def test_node_columns_show_row_and_resources() -> None:
    assert columns("LynqNode", wide=False) == {
        "UID": ("string", ".spec.uid"),
        "Form": ("string", ".spec.templateRef"),
        "Ready": ("integer", ".status.readyResources"),
        "Desired": ("integer", ".status.desiredResources"),
        "Skipped": ("integer", ".status.skippedResources"),
        "Conflicted": condition("Conflicted", "status"),
        "Conditions": condition("Ready", "reason"),
        "Age": AGE,
    }


def test_wide_node_columns_show_why_it_is_not_ready() -> None:
    assert columns("LynqNode", wide=True)["Message"] == condition("Ready", "message")
