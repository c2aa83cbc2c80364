"""Statements that a rolled back transaction cannot contain are refused before they are sent."""

import pytest

from lynq.sources.errors import StatementRefused
from lynq.sources.statement import check_statement


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE tenants SET plan = 'pro'",
        "  delete from tenants where uid = 'a;b' ;  ",
        "INSERT INTO tenants VALUES ('a', 1, 'it''s; fine')",
        '/* why */ UPDATE tenants SET plan = "a;b" -- ; COMMIT',
        "# note; \nUPDATE `odd;name` SET a = 1",
    ],
)
def test_one_writing_statement_is_accepted(statement: str) -> None:
    check_statement(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "  ;",
        "SELECT 1",
        "DROP TABLE tenants",
        "TRUNCATE tenants",
        "ALTER TABLE tenants ADD a int",
        "COMMIT",
        "CALL everything()",
        "WITH gone AS (DELETE FROM a RETURNING *) SELECT 1",
        "REPLACE INTO tenants VALUES (1)",
        "LOAD DATA INFILE 'x' INTO TABLE t",
        "UPDATE tenants SET a = 1; COMMIT",
        "UPDATE tenants SET a = 'x'; DROP TABLE tenants; --",
        "UPDATE tenants SET a = 1 /*! , b = 2 */",
        "/*!50000 DROP TABLE tenants */",
        "UPDATE tenants SET a = $$;COMMIT;$$",
        "UPDATE tenants SET a = 'x\\'; COMMIT; --'; COMMIT",
    ],
)
def test_other_statements_are_refused(statement: str) -> None:
    with pytest.raises(StatementRefused):
        check_statement(statement)
