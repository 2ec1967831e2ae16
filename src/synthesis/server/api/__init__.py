"""The API, one module per noun. A module has `router = api_router("noun")`; its place in this list makes it served."""

from synthesis.server.api import check, health
from synthesis.server.api.routing import PREFIX

API_ROUTERS = (
    check.router,
    health.router,
)

__all__ = ["API_ROUTERS", "PREFIX"]
