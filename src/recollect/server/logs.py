"""The log of the service: a line of JSON for each event, an event for each request. No content, no ids of users."""

from __future__ import annotations

import json
import logging
import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from recollect.server.metrics import Metrics
from recollect.server.problems import reply

log = logging.getLogger("recollect.server")

LEFT: Final = 499
"""The status of a request whose caller went away before it was answered, as nginx has it."""
METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""The methods that are counted by name: a caller may send any word as one."""
_ENCODER: Final = json.JSONEncoder(default=str)
_OWN: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName", "color_message"}


class JsonLines(logging.Formatter):
    """A record as one line of JSON: time, level, logger, event, then what `extra` brought."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        line.update((key, value) for key, value in record.__dict__.items() if key not in _OWN)
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return _ENCODER.encode(line)


CONFIG: Final[dict[str, Any]] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": JsonLines}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "loggers": {"httpx2": {"level": "WARNING"}, "psycopg.pool": {"level": "ERROR"}},
    "root": {"level": "INFO", "handlers": ["stderr"]},
}
"""Everything as JSON lines on stderr; what `uvicorn` and `logging.config.dictConfig` take.

A pool warns at each attempt to reach a database that is away; why it is away is in the error of whoever waited.
"""


@dataclass(frozen=True, slots=True)
class Watched:
    """An app whose every request gets an id, a line in the log and its place in the metrics."""

    app: ASGIApp
    metrics: Metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request and note how it went."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        id, started, status = uuid.uuid4().hex, time.perf_counter(), LEFT
        scope.setdefault("state", {})["request_id"] = id

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id.encode())]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except ClientDisconnect:
            pass  # it is logged with the status LEFT
        except Exception as error:  # whatever it is, the log has it under the id that the answer names
            log.error("unforeseen", exc_info=error, extra={"request": id, "path": scope["path"]})
            if status != LEFT:
                raise
            await reply(error, scope["path"])(scope, receive, noting)
        finally:
            self._note(scope, status, time.perf_counter() - started, id)
        return None

    def _note(self, scope: Scope, status: int, seconds: float, id: str) -> None:
        route = getattr(scope.get("route"), "path_format", "none")
        method = scope["method"] if scope["method"] in METHODS else "other"
        self.metrics.answered(method, route, status, seconds)
        if log.isEnabledFor(logging.INFO):
            key = scope["state"].get("key")
            more = {"key": key.id, "tenant": key.tenant} if key else {}
            facts = {"method": method, "route": route, "status": status, "ms": round(seconds * 1_000, 2)}
            log.info("request", extra={"request": id, **facts, **more})
