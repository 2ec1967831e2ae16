"""The API, one module per noun. A module has `router = api_router("noun")`; this list makes it served."""

from synthesis.server.api import check, jobs, rules, runs

API_ROUTERS = (
    check.router,
    jobs.router,
    runs.router,
    runs.labels_router,
    jobs.judging_router,
    rules.router,
    rules.health_router,
)
