"""What a database says about itself: version, TLS and grants, without secrets."""

from lynq.sources.engines import inspect_source
from sources.engines import Engine, MariaDB, PostgreSQL


async def test_facts_have_version_and_grants(engine: Engine) -> None:
    await engine.execute("CREATE TABLE inspected (id INT)")
    facts = await inspect_source(engine.settings, "inspected")
    expected = {"mysql": "MariaDB", "postgresql": "PostgreSQL ", "sqlite": "SQLite "}
    assert expected[engine.settings.engine] in facts.version
    assert facts.tls == ""
    assert facts.grants


async def test_grants_show_no_password_hash(server_engine: MariaDB | PostgreSQL) -> None:
    facts = await inspect_source(server_engine.settings, "inspected")
    assert not any("IDENTIFIED" in grant or "*" * 2 in grant for grant in facts.grants)
