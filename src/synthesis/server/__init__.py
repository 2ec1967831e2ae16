"""The workbench: the checks as an API and as pages, for programs and for people (`synthesis serve`).

    from synthesis.server.app import create_app
    from synthesis.server.settings import ServerSettings

    app = create_app(ServerSettings())

The layers, from outside in: `observation` counts and catches, `gate` lets in and puts headers on, the routes answer.
What all routes share (rules, evaluator, limits, settings) is the `Workbench`: `workbench_of(request)`.

A route of the API. In `api/noun.py`:

    router = api_router("noun")                                 # below /api/v1

    @router.post("/noun", **described(Answer, takes=Question))  # msgspec structs; they become the OpenAPI schema
    async def make(request: Request) -> Response:
        \"\"\"What it does, in one sentence: the reference shows it.\"\"\"
        body = await read_body(request, ...)                    # never request.body(): that knows no limits
        return Json(Answer(...))

and a line in `API_ROUTERS` (`api/__init__.py`). Parameters of path and query are declared as FastAPI has them. What
cannot be answered is raised as `ApiError(status, code, message, hint)` or as any `SynthesisError`. What computes takes
a place first (`with workbench.slots.one()`) and leaves the event loop free (`in_thread`). With `--workers` the next
request may come to another process: what outlives a request lies in `settings.folder` or in the history, not in memory.

What takes longer than a request is a job (`jobs.py`): it has a folder of its own, waits for a process beside the
server, and is followed by `events.follow`. The history is asked by `await workbench.from_history(lambda history: ...)`.

A page. In `pages/noun.py`:

    router = APIRouter(include_in_schema=False)

    @router.get("/noun")
    async def noun(request: Request) -> Response:
        return page(request, "noun.html", title="Noun", things=things)

with `templates/noun.html` that extends `base.html` (blocks `main` and `script`), a line in `PAGE_ROUTERS`
(`pages/__init__.py`) and one in `NAVIGATION` (`pages/frame.py`). Forms are read with `read_form`. Styles go to
`static/pages.css`, on top of the report's own style sheet; scripts are files in `static/`, named in the template by
`asset("noun.js")`. There is no inline style and no inline script: the policy forbids both. Texts that people wrote are
marked with `report.html.marks.Marks`, as in the report. A page works without its script wherever it can.
"""
