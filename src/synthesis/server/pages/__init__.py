"""The pages, one module each. A module has `router = APIRouter(include_in_schema=False)`; this list makes it
served, and `NAVIGATION` (layout.py) links to it."""

from synthesis.server.pages import compare, judged, labels, layout, rules, runs, try_page

PAGE_ROUTERS = (
    try_page.router,
    runs.router,
    compare.router,
    judged.router,
    labels.router,
    rules.router,
    layout.router,
)
