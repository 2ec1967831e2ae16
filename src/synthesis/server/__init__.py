"""The workbench: the checks as an API and as pages, for programs and for people (`synthesis serve`).

    from synthesis.server.app import create_app
    from synthesis.server.security import ServerSettings

    app = create_app(ServerSettings())

The layers, from outside in: `MetricsMiddleware` counts and catches, `SecurityMiddleware` refuses and adds headers, the
routes answer. What all routes share (rules, evaluator, history, limits, settings) is the `ServerState`, which
`server_state(request)` returns.

A route of the API. In `api/noun.py`:

    router = api_router("noun")                                 # below /api/v1

    @router.post("/noun", **described(Answer, takes=Question))  # msgspec structs; they become the OpenAPI schema
    async def make(request: Request) -> Response:
        \"\"\"What it does, in one sentence: the schema shows it.\"\"\"
        body = await read_body(request, ...)                    # never request.body(): it has no limits
        return JsonResponse(Answer(...))

and a line in `API_ROUTERS` (`app.py`). Declare parameters of path and query as FastAPI does. If a request
cannot be answered, raise `ApiError(status, code, message, hint)` or any `SynthesisError`. A route that computes takes a
slot first (`with server.slots.one()`) and leaves the event loop free (`await server.in_thread(...)`). With `--workers`
the next request may reach another process, so what outlives a request goes to `settings.folder` or to the history.

What takes longer than a request is a job (`jobs.py`): a state, a task that says what to do, and a folder. `receive`
(`api/jobs.py`) makes one of a body, `add_job_routes` adds its progress, its events and cancelling.
`await server.from_history(lambda history: ...)` asks the history and answers 404 where there is none;
`from_history_if_any` returns None.

A page. In `pages/noun.py`:

    router = APIRouter(include_in_schema=False)

    @router.get("/noun")
    async def noun(request: Request) -> Response:
        return page(request, "noun.html", title="Noun", things=things)

with `templates/noun.html` that extends `base.html` (blocks `main` and `script`), a line in `PAGE_ROUTERS`
(`pages/__init__.py`) and one in `NAVIGATION` (`pages/layout.py`). Read forms with `read_form`. Styles go to
`static/pages.css`, on top of the report's own style sheet; scripts are files in `static/`, named in the template by
`asset("noun.js")`. There is no inline style and no inline script: the content security policy forbids both. Draw texts
that people wrote with `case_view` (`pages/runs.py`), as the report does. A page works without
its script wherever it can.
"""
