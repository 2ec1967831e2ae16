"""The API, one module per noun. A module has `router = api_router("noun")`; its place in this list makes it served."""

from synthesis.server.api import batch, check, compare, health, judging, rules, runs, uploads
from synthesis.server.api.routing import PREFIX

API_ROUTERS = (
    check.router,
    batch.router,
    uploads.router,
    runs.router,
    compare.router,
    judging.router,
    rules.router,
    health.router,
)

__all__ = ["API_ROUTERS", "PREFIX"]
