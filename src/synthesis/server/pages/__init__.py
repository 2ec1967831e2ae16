"""The pages, one module each. A module has `router = APIRouter(include_in_schema=False)`; its place in this list makes
it served, and its place in `NAVIGATION` (frame.py) makes it found."""

from synthesis.server.pages import compare, frame, judged, label, login, reference, rules, run, runs, try_page

PAGE_ROUTERS = (
    try_page.router,
    runs.router,
    run.router,
    compare.router,
    judged.router,
    label.router,
    rules.router,
    reference.router,
    login.router,
    frame.router,
)
