"""The jobs: each opens one public door in a folder of its own and hands back what was said, by the entry's name."""

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from golden.inputs import LANGUAGES, ROOT, data_files

Said = dict[str, bytes]
Wanted = Callable[[str], bool]
Makers = dict[str, Callable[[], bytes]]
READERS = {"compiled": "1", "python": "0"}
PROFILES = ("authored", "traffic")
FORMATS = ("csv", "github", "html", "json", "junit", "markdown", "sarif")
OWN_SETTINGS = ("SYNTHESIS_", "GITHUB_", "PYTEST_")
TABLE_ROWS = """
import json, sys, pyarrow.dataset
for row in pyarrow.dataset.dataset(sys.argv[1], exclude_invalid_files=True).to_table().to_pylist():
    print(json.dumps(row, default=str, ensure_ascii=False))
"""


@dataclass(frozen=True)
class Job:
    """`entries` is where the names begin; `needs` are the packages whose version shows in what is said."""

    entries: str
    open: Callable[[Path, Wanted], Said]
    needs: tuple[str, ...] = ()


def jobs() -> Iterator[Job]:
    for language in LANGUAGES:
        for reader in READERS:
            for profile in PROFILES:
                opened = partial(_examples, language, reader, profile)
                yield Job(f"examples/{language}/{reader}/{profile}/", opened)
    for file in data_files():
        for reader in READERS:
            yield Job(f"data/{Path(file).stem}/{reader}/", partial(_data, file, reader))
    yield Job("drift/", _drift)
    yield Job("forms/evals/", partial(_forms, "data/evals.jsonl"))
    yield Job("forms/evals.safety/", partial(_forms, "data/evals.safety.jsonl"))
    yield Job("forms/conversations/", partial(_forms, "conversations.jsonl"))
    for file in ("data/evals.jsonl", "conversations.jsonl"):
        yield Job(f"table/{Path(file).stem}/", partial(_table, file), ("pyarrow",))
    yield Job("compare/", _compare)
    for language in LANGUAGES:
        yield Job(f"audit/traffic.{language}/", partial(_audit, f"data/traffic.{language}.jsonl"))
    yield Job("audit/conversations/", partial(_audit, "conversations.jsonl"))
    for test_set in ("courses", "passages"):
        yield Job(f"judge/{test_set}/", partial(_judge, test_set))
    yield Job("library/names", partial(_library, "names"), ("python",))
    yield Job("library/verdicts", partial(_library, "verdicts"))
    yield Job("server/", _server, ("fastapi", "pydantic", "starlette"))
    yield Job("rules/", _rules)
    yield Job("schema/", _schemas)
    yield Job("help/", _help, ("click",))


def command(folder: Path, *arguments: str, reader: str = "compiled") -> bytes:
    """What `python -m synthesis` says on both streams, and how it ends."""
    return _run([sys.executable, "-m", "synthesis", *arguments], folder, reader)


def environment(reader: str = "compiled") -> dict[str, str]:
    """A plain terminal of fixed width, and nothing of the caller's own settings but the cache of prepared rules."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN_SETTINGS)}
    cache = {"SYNTHESIS_CACHE": os.environ["SYNTHESIS_CACHE"]} if "SYNTHESIS_CACHE" in os.environ else {}
    plain = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}
    switches = {"SYNTHESIS_NATIVE": READERS[reader], "SYNTHESIS_LEARNED": "0"}  # weights change, and tests pin them
    return {**kept, **cache, **plain, **switches, "PYTHONPATH": str(ROOT / "src")}


def _run(words: list[str], folder: Path, reader: str = "compiled") -> bytes:
    done = subprocess.run(
        words, cwd=folder, env=environment(reader), stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    return done.stdout + done.stderr + f"exit {done.returncode}\n".encode()


def _evaluate(folder: Path, out: str, *arguments: str, reader: str = "compiled") -> bytes:
    return command(folder, "eval", *arguments, "--out", out, "--workers", "1", reader=reader)


def _examples(language: str, reader: str, profile: str, folder: Path, wanted: Wanted) -> Said:
    """One run for a language, its results apart by the file of the pack that holds the examples."""
    begin = f"examples/{language}/{reader}/{profile}"
    files = [file for file in sorted((folder / "examples" / language).iterdir()) if wanted(f"{begin}/{file.stem}")]
    if not files:
        return {}
    names = [str(file.relative_to(folder)) for file in files]
    options = ("--checks", "all", "--profile", profile, "--results", "results.jsonl", "--quiet")
    answer = _evaluate(folder, "report.json", *names, *options, reader=reader)
    if not (folder / "results.jsonl").exists():
        raise RuntimeError(answer.decode())
    said: dict[str, list[bytes]] = defaultdict(list)
    with (folder / "results.jsonl").open("rb") as results:
        for line in results:
            said[Path(json.loads(line)["source"]["file"]).stem].append(line)
    return {f"{begin}/{stem}": b"".join(lines) for stem, lines in said.items()}


def _data(file: str, reader: str, folder: Path, _: Wanted) -> Said:
    begin = f"data/{Path(file).stem}/{reader}"
    said = {}
    for profile in PROFILES:
        answer = _evaluate(folder, "report.json", file, "--checks", "all", "--profile", profile, reader=reader)
        said[f"{begin}/{profile}/console"] = answer
        said[f"{begin}/{profile}/report"] = (folder / "report.json").read_bytes()
    return said


def _drift(folder: Path, _: Wanted) -> Said:
    limits = ("--fail-on-drift", "agency_language=0.05", "--fail-on-drift", "flattery=0.0")
    console = _evaluate(folder, "report.json", "conversations.jsonl", "--checks", "all", *limits)
    return {"drift/console": console, "drift/report": (folder / "report.json").read_bytes()}


def _forms(file: str, folder: Path, wanted: Wanted) -> Said:
    begin = f"forms/{Path(file).stem}"
    drawn = [form for form in FORMATS if form != "json"]
    formats = [word for form in drawn for word in ("--format", f"{form}=eval.{form}")]
    said = {f"{begin}/eval.console": _evaluate(folder, "report.json", file, *formats)}
    said |= {f"{begin}/eval.{form}": (folder / f"eval.{form}").read_bytes() for form in drawn}
    said[f"{begin}/eval.json"] = (folder / "report.json").read_bytes()
    makers: Makers = {f"{begin}/convert.{form}": partial(_converted, folder, form) for form in FORMATS}
    makers |= {f"{begin}/redacted.{form}": partial(_converted, folder, form, "--redact") for form in FORMATS}
    makers[f"{begin}/no-text"] = partial(_without_texts, file, folder)
    again = partial(_evaluate, folder, "again.json", file)
    makers[f"{begin}/strict.console"] = partial(again, "--strict", "--checks", "all")
    makers[f"{begin}/baseline.console"] = partial(again, "--baseline", "report.json")
    return said | _made(makers, wanted)


def _made(makers: Makers, wanted: Wanted) -> Said:
    return {name: make() for name, make in makers.items() if wanted(name)}


def _converted(folder: Path, form: str, *options: str) -> bytes:
    return command(folder, "report", "convert", "report.json", "--format", form, "--out", "-", *options)


def _without_texts(file: str, folder: Path) -> bytes:
    _evaluate(folder, "bare.json", file, "--no-text", "--results", "bare.jsonl", "--failures-only")
    return (folder / "bare.json").read_bytes() + (folder / "bare.jsonl").read_bytes()


def _table(file: str, folder: Path, _: Wanted) -> Said:
    begin = f"table/{Path(file).stem}"
    table = ("--out-table", "verdicts", "--checks", "all")
    return {
        f"{begin}/console": _evaluate(folder, "report.json", file, *table),
        f"{begin}/report": (folder / "report.json").read_bytes(),
        f"{begin}/rows": _run([sys.executable, "-c", TABLE_ROWS, "verdicts"], folder),
    }


def _compare(folder: Path, wanted: Wanted) -> Said:
    _evaluate(folder, "old.json", "data/evals.jsonl", "--checks", "all")
    _evaluate(folder, "new.json", "changed.jsonl", "--checks", "all")
    _evaluate(folder, "traffic.json", "changed.jsonl", "--checks", "all", "--profile", "traffic")
    alike = partial(command, folder, "compare", "old.json", "new.json")
    unlike = partial(command, folder, "compare", "old.json", "traffic.json")
    makers: Makers = {
        "compare/console": partial(alike, "--fail-on-regression"),
        "compare/json": partial(alike, "--json"),
        "compare/reevaluate": partial(unlike, "--reevaluate", "--json"),
        "compare/across": partial(unlike, "--across"),
        "compare/refused": unlike,
    }
    return _made(makers, wanted)


def _audit(file: str, folder: Path, _: Wanted) -> Said:
    begin = f"audit/{Path(file).stem}"
    said = {f"{begin}/console": command(folder, "audit", "make", file, "--out", "audit", "--workers", "1")}
    said |= {f"{begin}/{path.name}": path.read_bytes() for path in sorted((folder / "audit").iterdir())}
    said[f"{begin}/verify"] = command(folder, "audit", "verify", "audit/audit.json", file, "--workers", "1")
    return said


def _judge(test_set: str, folder: Path, wanted: Wanted) -> Said:
    begin = f"judge/{test_set}"
    options = ("--output-dir", "run", "--root", "runs", "--iterations", "2", "--concurrency", "1")
    said = {f"{begin}/console": command(folder, "judge", "run", test_set, *options)}
    run = folder / "runs" / "run"
    # The journal has a checksum over each line with its time; what it holds is in the records.
    said |= {f"{begin}/{path.relative_to(run)}": path.read_bytes() for path in sorted(run.glob("[a-z]*/*.json"))}
    makers: Makers = {f"{begin}/report.{form}": partial(_judged, folder, form) for form in ("text", "html", "markdown")}
    makers[f"{begin}/status"] = partial(command, folder, "judge", "status", "run", "--root", "runs")
    return said | _made(makers, wanted)


def _judged(folder: Path, form: str) -> bytes:
    """What the command says, and the page or document that it writes."""
    said = command(folder, "judge", "report", "run", "--root", "runs", "--format", form, "--out", "judged")
    return said + ((folder / "judged").read_bytes() if (folder / "judged").exists() else b"")


def _library(name: str, folder: Path, _: Wanted) -> Said:
    return {f"library/{name}": _script(f"library_{name}", folder)}


def _script(name: str, folder: Path) -> bytes:
    return _run([sys.executable, str(Path(__file__).with_name(f"{name}.py"))], folder)


def _server(folder: Path, _: Wanted) -> Said:
    words = [sys.executable, "-m", "synthesis", "serve", "--port", "0", "--history", "history.db"]
    started = subprocess.Popen(
        words, cwd=folder, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        address = _address(started)
        case = {"user": "I lost my job.", "assistant": "Don't worry, you'll be fine. You should cheer up."}
        return {
            "server/openapi": _asked(f"{address}api/v1/openapi.json"),
            "server/check": _asked(f"{address}api/v1/check", case),
            "server/rules": _asked(f"{address}api/v1/rules"),
        }
    finally:
        started.terminate()
        started.wait(30)
        assert started.stdout
        started.stdout.close()


def _address(started: "subprocess.Popen[bytes]") -> str:
    assert started.stdout
    for line in started.stdout:
        if found := re.search(rb"http://\S+", line):
            return found[0].decode()
    raise RuntimeError("the server did not say where it serves")


def _asked(url: str, body: dict[str, str] | None = None) -> bytes:
    """The answer's JSON, indented: a difference then shows in a line of its own."""
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, sent, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.dumps(json.load(answer), indent=1, ensure_ascii=False).encode()


def _rules(folder: Path, wanted: Wanted) -> Said:
    makers: Makers = {
        "rules/hash": partial(rules_in_force, folder),
        "rules/list": partial(command, folder, "rules", "list"),
        "rules/show": partial(command, folder, "rules", "show", "agency.negative.you-should"),
    }
    return _made(makers, wanted)


def _schemas(folder: Path, wanted: Wanted) -> Said:
    names = ("audit", "case", "report")
    return _made({f"schema/{name}": partial(command, folder, "schema", name) for name in names}, wanted)


def _help(folder: Path, _: Wanted) -> Said:
    """The help of a command and of all below it, as the help itself lists them."""
    pages = json.loads(_script("help_pages", folder).splitlines()[0])
    return {f"help/{name}": page.encode() for name, page in pages.items()}


def rules_in_force(folder: Path) -> bytes:
    """The hash of the bundled rules: it stands in many outputs, and has an entry of its own."""
    _evaluate(folder, "report.json", "data/evals.jsonl", "--quiet")
    in_force = json.loads((folder / "report.json").read_bytes())["rules"]["hash"]
    return str(in_force).encode()


def own_folder(inputs: Path, folder: Path) -> Path:
    """A folder for one job, with the inputs linked into it."""
    shutil.copytree(inputs, folder, copy_function=os.link)
    return folder
