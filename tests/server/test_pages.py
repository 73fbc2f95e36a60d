"""What docs/service.md lists is all there is."""

from __future__ import annotations

import re
from pathlib import Path

from recollect import errors
from recollect.server.app import document
from recollect.server.options import Options
from recollect.server.problems import KNOWN

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text("utf-8")


def test_every_operation_is_listed() -> None:
    listed = set(re.findall(r"`((?:GET|POST|PUT|PATCH|DELETE) /[\w/{}]+)`", PAGE))
    there_are = {
        f"{method.upper()} {path}" for path, operations in document()["paths"].items() for method in operations
    }
    assert there_are - listed == set()
    assert listed - there_are == set()


def test_every_option_is_listed_with_its_default() -> None:
    rows = dict(re.findall(r"^\| `RECOLLECT_(\w+)` \| ([^|]*) \|", PAGE, re.MULTILINE))
    assert {name.lower() for name in rows} - {"data_dir"} == set(Options.model_fields)
    for name, field in Options.model_fields.items():
        if isinstance(field.default, (int, float)):
            assert float(rows[name.upper()].replace(",", "")) == field.default


def test_every_class_of_error_has_its_status() -> None:
    rows = re.findall(r"^\| (\d{3}) \| (.*) \|$", PAGE, re.MULTILINE)
    told = {name: int(status) for status, names in rows for name in re.findall(r"`(\w+)`", names)}
    classes = [cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, errors.RecollectError)]
    for cls in classes:
        nearest = next(known for known in cls.__mro__ if known in KNOWN)
        assert told[cls.__name__] == KNOWN[nearest].status, cls
