"""Go's syntax for flags."""

from datetime import timedelta

import click
import pytest

from lynq.cli.goflags import GoCommand, boolean, duration, level


@click.command(cls=GoCommand)
@click.option("--leader-elect", type=boolean, default="false")
@click.option("--name", default="")
@click.argument("rest", nargs=-1)
def command(**flags: object) -> dict[str, object]:
    return flags


def parsed(*args: str) -> dict[str, object]:
    answer = command.main(list(args), standalone_mode=False)
    assert isinstance(answer, dict)
    return answer


@pytest.mark.parametrize("dashes", ["-", "--"])
@pytest.mark.parametrize(
    ("text", "value"),
    [("", True), ("=true", True), ("=false", False), ("=T", True), ("=0", False)],
)
def test_boolean_may_have_a_value(dashes: str, text: str, value: object) -> None:
    assert parsed(f"{dashes}leader-elect{text}")["leader_elect"] is value


def test_boolean_never_takes_the_next_argument() -> None:
    flags = parsed("--leader-elect", "false")
    assert flags["leader_elect"] is True
    assert flags["rest"] == ("false",)


@pytest.mark.parametrize(
    "args", [("--name=x=y",), ("-name=x=y",), ("--name", "x=y"), ("-name", "x=y")]
)
def test_value_follows_an_equals_sign_or_a_space(args: tuple[str, ...]) -> None:
    assert parsed(*args)["name"] == "x=y"


@pytest.mark.parametrize("value", ["-1", "--leader-elect", "--", ""])
def test_argument_after_a_flag_is_its_value(value: str) -> None:
    flags = parsed("--name", value)
    assert flags["name"] == value
    assert flags["leader_elect"] is False


def test_last_of_equal_flags_wins() -> None:
    flags = parsed("-name=a", "--name=b", "-leader-elect", "--leader-elect=false")
    assert (flags["name"], flags["leader_elect"]) == ("b", False)


def test_arguments_after_two_dashes_are_not_flags() -> None:
    assert parsed("--", "-leader-elect")["rest"] == ("-leader-elect",)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("-nonsense",), "No such option"),
        (("--name",), "requires an argument"),
        (("--leader-elect=maybe",), "is not a boolean"),
        (("--leader-elect=",), "is not a boolean"),
    ],
)
def test_invalid_flag_is_reported(args: tuple[str, ...], message: str) -> None:
    with pytest.raises(click.UsageError, match=message) as raised:
        parsed(*args)
    assert raised.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10m", 600),
        ("90s", 90),
        ("1h30m", 5400),
        ("1.5h", 5400),
        ("500ms", 0.5),
        ("1m0.5s", 60.5),
        ("0", 0),
    ],
)
def test_duration_is_parsed_like_go(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "10", "m", "10 m", "-5m", "5x", "5mm", "1d", "9" * 30 + "h"])
def test_invalid_duration_is_rejected(text: str) -> None:
    with pytest.raises(click.BadParameter):
        duration(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("debug", "debug"), ("INFO", "info"), ("error", "error"), ("1", "debug"), ("5", "debug")],
)
def test_log_level_is_a_name_or_a_number(text: str, meant: str) -> None:
    assert level(text) == meant


@pytest.mark.parametrize("text", ["0", "-1", "loud", ""])
def test_invalid_log_level_is_rejected(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a log level"):
        level(text)
