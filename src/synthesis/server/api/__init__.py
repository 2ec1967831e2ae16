"""The API, one module per noun. A module has `router = api_router("noun")`; this list makes it served."""

from synthesis.server.api import check, health, judging, labels, rules, runs, uploads

API_ROUTERS = (
    check.router,
    uploads.router,
    runs.router,
    labels.router,
    judging.router,
    rules.router,
    health.router,
)
