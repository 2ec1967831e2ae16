"""Query logs in database tables. Rows are streamed, and nothing is written."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from synthesis.errors import MissingExtraError, Place, TestSetError, did_you_mean
from synthesis.judge.testset.tables import Placed, plain

if TYPE_CHECKING:
    from sqlalchemy import URL, ColumnClause, Engine

ROWS_AT_A_TIME = 500


def read_table(url: str, table: str) -> Iterator[Placed]:
    """The rows of a table (`name` or `schema.name`) as they stream from the database, which is only read."""
    parsed = _url(url)
    from sqlalchemy import exc

    try:
        with _engine(parsed) as engine:
            yield from _rows(engine, table, shown(url))
    except exc.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).splitlines()[0]
        raise _failed(_without_password(reason, parsed), url) from None


def shown(url: str) -> str:
    """The URL without its password, fit to be shown."""
    return _url(url).render_as_string(hide_password=True)


def _url(url: str) -> "URL":
    try:
        from sqlalchemy import exc, make_url
    except ImportError:
        raise MissingExtraError("sql", "reading a database") from None
    try:
        parsed = make_url(url)
    except (exc.ArgumentError, ValueError):
        hint = "Write it as sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE."
        raise TestSetError("this is not a database URL", hint=hint) from None
    if parsed.drivername in ("postgres", "postgresql"):  # the driver that the extra `sql` brings
        parsed = parsed.set(drivername="postgresql+psycopg")
    return parsed


@contextmanager
def _engine(url: "URL") -> "Iterator[Engine]":
    from sqlalchemy import create_engine

    # SQLite would make a database that does not exist.
    if url.drivername.startswith("sqlite") and url.database and not os.path.exists(url.database):
        raise TestSetError("no such file", place=Place(url.database), hint="Check the path in the database URL.")
    try:
        engine = create_engine(url)
    except ModuleNotFoundError as error:
        hint = f"Install it with: pip install {error.name}"
        raise TestSetError(f"the driver for this database is missing: {error.name}", hint=hint) from None
    try:
        yield engine
    finally:
        engine.dispose()


def _rows(engine: "Engine", name: str, place: str) -> Iterator[Placed]:
    from sqlalchemy import column, inspect, select, table

    schema, _, bare = name.rpartition(".")
    inspector = inspect(engine)
    known = [*inspector.get_table_names(schema or None), *inspector.get_view_names(schema or None)]
    if bare not in known:
        raise TestSetError(f"there is no table '{name}'", place=Place(place), hint=did_you_mean(bare, known))
    # Columns without types: values come as the driver reads them, whatever the table claims.
    columns: list[ColumnClause[Any]] = [column(found["name"]) for found in inspector.get_columns(bare, schema or None)]
    query = select(*columns).select_from(table(bare, schema=schema or None))
    with engine.connect() as connection:
        result = connection.execution_options(yield_per=ROWS_AT_A_TIME).execute(query)
        for number, row in enumerate(result.mappings(), 1):
            yield f"row {number}", plain(row)


def _without_password(text: str, url: "URL") -> str:
    return text.replace(str(url.password), "***") if url.password else text


def _failed(reason: str, url: str) -> TestSetError:
    hint = "Check host, database, user and table."
    return TestSetError(f"the database reports: {reason}", place=Place(shown(url)), hint=hint)
