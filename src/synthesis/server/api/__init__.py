"""The API, one module per noun. A module has `router = api_router("noun")`; this list makes it served."""

from synthesis.server.api import check, judging, rules, runs, uploads

API_ROUTERS = (
    check.router,
    uploads.router,
    runs.router,
    runs.labels_router,
    judging.router,
    rules.router,
    rules.health_router,
)
