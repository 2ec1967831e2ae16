"""Where the API lives: everything below one versioned prefix."""

from fastapi import APIRouter

PREFIX = "/api/v1"


def api_router(noun: str) -> APIRouter:
    """A router below the prefix; `noun` groups its routes in the reference."""
    return APIRouter(prefix=PREFIX, tags=[noun])
