"""The pages, one module each. A module has `router = APIRouter(include_in_schema=False)`; this list makes it
served, and `NAVIGATION` (layout.py) links to it."""

from synthesis.server.pages import (
    compare,
    judged,
    label,
    label_question,
    layout,
    login,
    panel,
    reference,
    rules,
    run,
    runs,
    try_page,
)

PAGE_ROUTERS = (
    try_page.router,
    runs.router,
    run.router,
    compare.router,
    judged.router,
    panel.router,
    label.router,
    label_question.router,
    rules.router,
    reference.router,
    login.router,
    layout.router,
)
