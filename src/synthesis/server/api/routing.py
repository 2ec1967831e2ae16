"""Where the API lives: everything below one versioned prefix."""

from collections.abc import Callable, Coroutine
from inspect import signature
from typing import Any

from fastapi import APIRouter
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response

PREFIX = "/api/v1"


class DirectRoute(APIRoute):
    """A route whose function takes the request and nothing else is called at once: FastAPI has nothing to prepare."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        if list(signature(self.endpoint).parameters) == ["request"]:
            function: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
            return function
        return super().get_route_handler()


def api_router(noun: str) -> APIRouter:
    """A router below the prefix; `noun` groups its routes in the reference."""
    return APIRouter(prefix=PREFIX, tags=[noun], route_class=DirectRoute)
