"""From a request to the function that answers it, by a plan that is made once: what FastAPI would work out each time.

The functions say what they take as FastAPI reads it (`Query`, `Header`, `Path`, `Depends`, a model for the body), so
that the OpenAPI document is FastAPI's own.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeAlias, get_args, get_origin

from fastapi import APIRouter, Request, Response, params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from recollect.errors import RecollectError

Handler: TypeAlias = Callable[[Request], Coroutine[Any, Any, Response]]
Faults: TypeAlias = list[dict[str, Any]]
Told: TypeAlias = Callable[[Request, Exception], Response]
TOLD: Final = (RecollectError, RequestValidationError, HTTPException)
"""What is wrong with a request, in place of an answer."""
MISSING: Final = inspect.Parameter.empty
"""What was not sent; or a parameter that has to be sent, as it has no default."""


@dataclass(frozen=True, slots=True)
class _Value:
    """A value that stands in the query, a header or the path of a request."""

    name: str
    place: str
    alias: str
    valid: TypeAdapter[Any]
    default: Any

    def read(self, sent: Mapping[str, Any], faults: Faults) -> Any:
        given = sent.get(self.alias)
        if given is None:
            if self.default is MISSING:
                faults.append(_missing(self.place, self.alias))
            return self.default
        return _validated(self.valid, given, (self.place, self.alias), faults)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where the arguments of a function come from."""

    call: Callable[..., Coroutine[Any, Any, Any]]
    request: str | None
    needs: Mapping[str, _Plan]
    values: tuple[_Value, ...]
    body: tuple[str, TypeAdapter[Any]] | None

    @property
    def query(self) -> frozenset[str]:
        """The names of the query's parameters."""
        own = frozenset(value.alias for value in self.values if value.place == "query")
        return own.union(*(plan.query for plan in self.needs.values()))

    async def result(self, request: Request, body: Any, faults: Faults) -> Any:
        """What the function gives for a request; it is not called where something is wrong with what it takes."""
        found: dict[str, Any] = {self.request: request} if self.request else {}
        for name, plan in self.needs.items():
            found[name] = await plan.result(request, None, faults)
        for value in self.values:
            found[value.name] = value.read(_sent(request, value.place), faults)
        if self.body:
            name, valid = self.body
            if body is MISSING:
                faults.append(_missing("body"))
            else:
                found[name] = _validated(valid, body, ("body",), faults)
        return None if faults else await self.call(**found)


def _sent(request: Request, place: str) -> Mapping[str, Any]:
    if place == "query":
        return request.query_params
    return request.headers if place == "header" else request.path_params


def _missing(*where: str) -> dict[str, Any]:
    return {"type": "missing", "loc": where, "msg": "Field required", "input": None}


def _validated(valid: TypeAdapter[Any], value: Any, where: tuple[str, ...], faults: Faults) -> Any:
    try:
        return valid.validate_python(value, from_attributes=True)
    except ValidationError as error:
        told = error.errors(include_url=False)
        faults += ({**fault, "loc": (*where, *fault["loc"])} for fault in told)
        return None


def _plan(call: Callable[..., Any]) -> _Plan:
    called = call if inspect.isroutine(call) else type(call).__call__
    needs, values, request, body = {}, [], None, None
    for name, parameter in inspect.signature(called, eval_str=True).parameters.items():
        wanted = parameter.annotation
        told = get_args(wanted)[1:] if get_origin(wanted) is Annotated else ()
        source = next((one for one in told if isinstance(one, params.Depends | params.Param)), None)
        if wanted is Request:
            request = name
        elif isinstance(source, params.Depends) and source.dependency:
            needs[name] = _plan(source.dependency)
        elif inspect.isclass(wanted) and issubclass(wanted, BaseModel):
            body = name, TypeAdapter[Any](wanted)
        elif name != "self":
            place = source.in_.value if isinstance(source, params.Param) else "path"
            alias = name.replace("_", "-") if place == "header" else name
            values.append(_Value(name, place, alias, TypeAdapter(wanted), parameter.default))
    return _Plan(call, request, needs, tuple(values), body)


async def _body(request: Request) -> Any:
    """The JSON of a body; its bytes where it is said to be something else, MISSING where there is none."""
    data = await request.body()
    if not data:
        return MISSING
    main, _, kind = request.headers.get("content-type", "").partition(";")[0].strip().lower().partition("/")
    if main != "application" or not (kind == "json" or kind.endswith("+json")):
        return data
    try:
        return json.loads(data)
    except json.JSONDecodeError as error:
        fault = {"type": "json_invalid", "loc": ("body", error.pos), "msg": "JSON decode error", "input": {}}
        raise RequestValidationError([fault], body=error.doc) from error
    except (ValueError, RecursionError) as error:
        raise HTTPException(400, "There was an error parsing the body") from error


class Operation(APIRoute):
    """A route that follows its plan."""

    parameters: frozenset[str]
    handler: Handler

    def get_route_handler(self) -> Handler:
        """What answers a request."""
        plan = _plan(self.endpoint)
        self.parameters = plan.query

        async def handle(request: Request) -> Response:
            body, faults = await _body(request) if plan.body else None, Faults()
            answer: Response = await plan.result(request, body, faults)
            if faults:
                raise RequestValidationError(faults, body=body)
            return answer

        self.handler = handle
        return handle


def operations(**more: Any) -> APIRouter:
    """A router whose routes are operations."""
    return APIRouter(route_class=Operation, **more)


@dataclass(frozen=True, slots=True)
class Direct:
    """An app that takes a request to its operation by the path alone; what it has no operation for goes on inside."""

    app: ASGIApp
    known: Mapping[tuple[str, str], Operation]
    told: Told

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        operation = None if scope.get("root_path") else self.known.get((scope.get("method", ""), scope.get("path", "")))
        if operation is None:
            return await self.app(scope, receive, send)
        scope["route"], request = operation, Request(scope, receive, send)
        try:
            answer = await operation.handler(request)
        except TOLD as error:
            answer = self.told(request, error)
        return await answer(scope, receive, send)


def by_path(*routers: APIRouter) -> dict[tuple[str, str], Operation]:
    """The operations of routers by method and path, but for those whose path has parts to be read."""
    routes = [route for router in routers for route in router.routes if isinstance(route, Operation)]
    return {(method, route.path): route for route in routes if "{" not in route.path for method in route.methods or ()}
