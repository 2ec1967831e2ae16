"""The shapes of logs as other tools write them: which keys tell one, and where in it the conversation is.

Which shape a row has follows from its keys alone, so it is looked up once for all rows with the same keys. What a shape
gives are messages as its tool writes them: how a role and a text may be written in one is the second half.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from synthesis.errors import shorten
from synthesis.read.cases import is_unicode, side_of, text_of
from synthesis.read.lines import Row
from synthesis.read.mapping import called, decoded, first_called, fold, looks_like_json, unquoted, value_at

Fields = Mapping[str, Any]
Messages = list[Any]
Read = Callable[[Fields, bool], Messages]  # the second: a text that is JSON is never what somebody said
USER, ASSISTANT = "user", "assistant"
_MOST_DEPTH = 12  # of objects around a text


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


class UnusableError(Exception):
    """Why a row cannot be a case; never leaves this room."""


class Shape(NamedTuple):
    """What rows with certain keys are, the columns that are read, and how."""

    name: str
    columns: tuple[str, ...]
    read: Read
    pair: tuple[str, str] | tuple[()] = ()  # of two columns: what was said, and what was replied
    is_list: bool = False  # of one column that holds all messages, as they are
    is_sure: bool = True  # nothing else is called so


# Which texts and lists are the two sides of an exchange, by the names of columns.


# The first that a row has counts. `user` and `assistant` are often names of somebody where there are others as well.
ASKED = _words(
    "prompt question query instruction input inputs request user_message user_input user_prompt user_query human "
    "human_message customer_message user"
)
REPLIED = _words(
    "response completion answer reply output outputs generation generated_text assistant_message assistant_response "
    "bot_response model_response ai_response model_output llm_output actual_output output_text response_text bot "
    "assistant"
)
# Names that go together, before any two that only could.
_PAIRS = (
    ("request", "response"),
    ("request_body", "response_body"),
    ("prompt", "completion"),
    ("prompt", "response"),
    ("question", "answer"),
    ("input", "output"),
    ("inputs", "outputs"),
    ("body", "response"),  # a line of an OpenAI batch, joined with that of its results
)
_WITH_REPLY = ("response", "choices", "completion", "output", "outputs", "reply")  # beside a list of messages
# `user_input` is one in the samples of Ragas with several turns.
_LISTS = ("conversation", "dialog", "dialogue", "turns", "transcript", "chat_history", "user_input")
_IDS = _words(
    "id conversation_id conversation_hash chat_id thread_id trace_id session_id run_id request_id custom_id "
    "question_id interaction_id call_id span_id uuid key"
)


@lru_cache(maxsize=4096)
def id_column(names: tuple[str, ...]) -> str | None:
    """The column that rows are called by."""
    return first_called(_IDS, list(filter(_is_name, names)))


@lru_cache(maxsize=4096)
def shape_of(names: tuple[str, ...]) -> Shape | None:
    """The shape of rows with these keys, by the first recogniser that knows it; None if none does."""
    known = list(filter(_is_name, names))
    return next(filter(None, (recognise(known) for recognise in _RECOGNISERS)), None)


def _is_name(name: Any) -> bool:
    """Whether a column can be named in a report."""
    return isinstance(name, str) and is_unicode(name)


def recognised(fields: Fields) -> Shape | None:
    """The shape of a row. Where the column that it is told by is empty in this row, the others tell."""
    shape = shape_of(tuple(fields))
    if shape is None:
        return _one_level_below(fields)
    if shape.pair == (USER, ASSISTANT):
        return shape
    value = fields.get(shape.columns[0])
    if shape.is_list and not shape.is_sure and not isinstance(decoded(value), list):
        return _one_level_below(fields)  # the name of a conversation, or how many turns it has
    if value not in (None, ""):
        return shape
    return shape_of(tuple(name for name in fields if fields[name] not in (None, ""))) or shape


def _one_level_below(fields: Fields) -> Shape | None:
    """The messages in the one object of a row that has some, such as `thread.messages`."""
    found = [name for name, value in fields.items() if isinstance(value, Mapping) and _has_messages(value)]
    if len(found) != 1 or not _is_name(found[0]):
        return None
    return Shape(f"messages in {found[0]}", (found[0],), partial(_listed_in, found[0]))


def _has_messages(value: Fields) -> bool:
    listed = value.get("messages")
    return isinstance(listed, list) and any(isinstance(one, Mapping) for one in listed)


def _chatgpt(names: Sequence[str]) -> Shape | None:
    return Shape("ChatGPT export", ("mapping", "current_node"), _branch) if "mapping" in names else None


def _flat_telemetry(names: Sequence[str]) -> Shape | None:
    found = tuple(name for name in names if _is_telemetry(name.removeprefix("attributes.")))
    return Shape("OpenTelemetry span", (*found, "events"), _span_messages) if found else None


def _telemetry(names: Sequence[str]) -> Shape | None:
    found = tuple(name for name in ("attributes", "events", "resourceSpans", "scopeSpans") if name in names)
    return Shape("OpenTelemetry span", found, _span_messages) if {*found} - {"events"} else None


def _messages(names: Sequence[str]) -> Shape | None:
    name = next((name for name in ("messages", "conversations") if name in names), None)
    if name is None:
        return None
    reply = first_called(_WITH_REPLY, names)
    if reply is None:
        return Shape("messages", (name,), partial(_listed, name), is_list=True)
    return Shape("messages and a response", (name, reply), partial(_answered, name, reply))


def _exchange(names: Sequence[str]) -> Shape | None:
    return _pair(USER, ASSISTANT) if USER in names and ASSISTANT in names else None


def _instruction(names: Sequence[str]) -> Shape | None:
    """As Alpaca and Dolly have it: the instruction, and a text that it is about."""
    asked, replied = called("instruction", names), first_called(("output", "response"), names)
    about = first_called(("input", "context"), names)
    if asked is None or replied is None or about is None:
        return None
    return Shape("instruction", (asked, about, replied), partial(_instructed, asked, about, replied))


def _two_names(names: Sequence[str]) -> Shape | None:
    for one, other in _PAIRS:
        asked, replied = called(one, names), called(other, names)
        if asked and replied:
            return _pair(asked, replied)
    return None


def _arena(names: Sequence[str]) -> Shape | None:
    both = ("conversation_a", "conversation_b")
    return Shape("two conversations", both, _refuse_two) if {*both} <= {*names} else None


def _list_of_messages(names: Sequence[str]) -> Shape | None:
    name = first_called(_LISTS, names)
    return Shape("a list of messages", (name,), partial(_listed, name), is_list=True, is_sure=False) if name else None


def _any_two_names(names: Sequence[str]) -> Shape | None:
    asked, replied = first_called(ASKED, names), first_called(REPLIED, names)
    return _pair(asked, replied) if asked and replied else None


def _half_of_a_batch(names: Sequence[str]) -> Shape | None:
    name = next((name for name in ("response", "body") if name in names), None)
    if "custom_id" not in names or name is None:
        return None
    return Shape("half of a batch", (name,), _refuse_requests if name == "body" else _refuse_replies)


_RECOGNISERS = (
    _chatgpt,
    _flat_telemetry,
    _messages,
    _exchange,
    _instruction,
    _two_names,
    _telemetry,
    _arena,
    _any_two_names,
    _list_of_messages,
    _half_of_a_batch,
)


def _pair(asked: str, replied: str) -> Shape:
    names = (asked, replied)
    return Shape(f"{asked} and {replied}", names, partial(_asked_and_replied, asked, replied), names)


# Where the messages of a shape are.


def _listed(name: str, fields: Fields, _: bool) -> Messages:
    value = decoded(fields.get(name))
    if not isinstance(value, list):
        raise UnusableError(f"'{name}' is not a list of messages")
    return messages_of(value, USER, name) if value and isinstance(value[0], list) else value


def _listed_in(name: str, fields: Fields, strict: bool) -> Messages:
    return messages_of(fields[name], USER, name, strict=strict)


def _answered(name: str, reply: str, fields: Fields, strict: bool) -> Messages:
    """The messages of a request, then the response, unless it is among them already."""
    value = decoded(fields.get(name))
    asked = _listed(name, fields, strict) if isinstance(value, list) else messages_of(value, USER, name, strict=strict)
    if asked and isinstance(asked[-1], Mapping) and side_of(role_of(asked[-1])) == ASSISTANT:
        return asked
    return [*asked, *messages_of(fields.get(reply), ASSISTANT, reply, strict=strict)]


def _asked_and_replied(asked: str, replied: str, fields: Fields, strict: bool) -> Messages:
    return exchange_of(fields.get(asked), fields.get(replied), asked, replied, strict=strict)


def exchange_of(user: Any, assistant: Any, asked: str, replied: str, *, strict: bool) -> Messages:
    """What was said and what was replied; a list that was sent with the reply in it has it once."""
    said = messages_of(user, USER, asked, strict=strict)
    if not said:
        raise UnusableError(f"'{asked}' is empty")
    if assistant is None:
        return [*said, {"role": ASSISTANT, "content": None}]
    given = messages_of(assistant, ASSISTANT, replied, strict=strict)
    if not given or assistant == "":
        raise UnusableError(f"'{replied}' is empty")
    return _without_repeated(said, given)


def _without_repeated(said: Messages, given: Messages) -> Messages:
    """Graphs and agents answer with the whole conversation, what was sent included."""
    if len(given) < 2:
        return [*said, *given]
    heads = [(role_of(one), content_of(one)) for one in said]
    starts = [(role_of(one), content_of(one)) for one in given[: len(said)]]
    return given if heads == starts else [*said, *(one for one in given if side_of(role_of(one)) != USER)]


def _instructed(asked: str, about: str, replied: str, fields: Fields, strict: bool) -> Messages:
    texts = [fields.get(name) for name in (asked, about)]
    said = "\n\n".join(text for text in texts if isinstance(text, str) and text.strip())
    return exchange_of(said or None, fields.get(replied), asked, replied, strict=strict)


def _refuse_two(_: Fields, __: bool) -> Messages:
    raise UnusableError("holds two conversations, and here a row is one: --map messages=conversation_a chooses")


_JOIN = (
    "join the batch's input and its output by 'custom_id': one row with the 'body' of one, the 'response' of the other"
)


def _refuse_replies(_: Fields, __: bool) -> Messages:
    raise UnusableError(f"holds a reply of a batch, and nothing that it replies to: {_JOIN}")


def _refuse_requests(_: Fields, __: bool) -> Messages:
    raise UnusableError(f"holds a request of a batch, and no reply to it: {_JOIN}")


def _branch(fields: Fields, _: bool) -> Messages:
    """The branch of a ChatGPT conversation that is shown: from the current node up to the root."""
    nodes = decoded(fields.get("mapping"))
    if not isinstance(nodes, Mapping):
        raise UnusableError("'mapping' is not the tree of a ChatGPT export")
    name = fields.get("current_node") or next((leaf for leaf in reversed(nodes) if not _children(nodes[leaf])), None)
    found: Messages = []
    seen = set()
    while isinstance(name, str) and name in nodes and name not in seen:  # a ring would have no end
        seen.add(name)
        node = nodes[name]
        message = node.get("message") if isinstance(node, Mapping) else None
        if isinstance(message, Mapping) and _is_shown(message):
            found.append(message)
        name = node.get("parent") if isinstance(node, Mapping) else None
    if not found:
        raise UnusableError("'mapping' holds no message that is shown")
    return found[::-1]


def _children(node: Any) -> Any:
    return node.get("children") if isinstance(node, Mapping) else None


def _is_shown(message: Fields) -> bool:
    """Not what the assistant sends to a tool, nor what the page hides."""
    metadata = message.get("metadata")
    is_hidden = isinstance(metadata, Mapping) and metadata.get("is_visually_hidden_from_conversation")
    return message.get("recipient", "all") in ("all", None) and not is_hidden


# Spans of OpenTelemetry: the conversation is in attributes, flat or as JSON text.


_NO_WORDS = (
    "is a span without the words: its instrumentation does not record them by default. For most, "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true does"
)
_WHOLE = (
    ("gen_ai.input.messages", "gen_ai.output.messages"),
    ("gen_ai.prompt", "gen_ai.completion"),
    ("llm.input_messages", "llm.output_messages"),
    ("input.value", "output.value"),
)
_NUMBERED = (("gen_ai.prompt.", "gen_ai.completion."), ("llm.input_messages.", "llm.output_messages."))


_KIND = "openinference.span.kind"
_OF_PROGRAMS = frozenset({"embeddings", "execute_tool", "create_agent"})  # operations in which nobody speaks


def _is_telemetry(name: str) -> bool:
    return name.startswith(("gen_ai.", "llm.")) or name in ("input.value", "output.value")


def _is_model_call(attributes: Mapping[str, Any]) -> bool:
    """Whether a span is the call of a model; those of tools and retrievers have inputs and outputs, too."""
    if _KIND in attributes:
        return bool(attributes[_KIND] == "LLM")
    return bool(attributes) and str(attributes.get("gen_ai.operation.name")) not in _OF_PROGRAMS


def _attributes(fields: Fields) -> dict[str, Any]:
    """The attributes of a span and its events that are about a model, by their dotted names."""
    found: dict[str, Any] = dict(_flat(decoded(fields.get("attributes"))))
    for event in _events(fields):
        found |= {str(event.get("name")): None, **dict(_flat(decoded(event.get("attributes"))))}
    found |= {name.removeprefix("attributes."): value for name, value in fields.items() if "." in str(name)}
    return {name: value for name, value in found.items() if _is_telemetry(name) or name == _KIND}


def _flat(value: Any, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The attributes as a list of keys and typed values, as OTLP has them, or as an object, nested or not."""
    if isinstance(value, list):
        for one in value:
            if isinstance(one, Mapping) and isinstance(one.get("key"), str):
                yield one["key"], _typed(one.get("value"))
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            path = f"{prefix}{name}"
            if isinstance(inner, Mapping) and depth < _MOST_DEPTH:
                yield from _flat(inner, f"{path}.", depth + 1)
            else:
                yield path, inner


def _typed(value: Any, depth: int = 0) -> Any:
    if not isinstance(value, Mapping) or depth > _MOST_DEPTH:
        return value
    if isinstance(value.get("arrayValue"), Mapping):
        return [_typed(one, depth + 1) for one in value["arrayValue"].get("values") or ()]
    if isinstance(value.get("kvlistValue"), Mapping):
        inner = value["kvlistValue"].get("values") or ()
        return {one.get("key"): _typed(one.get("value"), depth + 1) for one in inner if isinstance(one, Mapping)}
    return next(iter(value.values()), None)


def _span_messages(fields: Fields, strict: bool) -> Messages:
    attributes = _attributes(fields)
    for asked, replied in _NUMBERED:
        found = [*_numbered(attributes, asked, USER), *_numbered(attributes, replied, ASSISTANT)]
        if found:
            return found
    for asked, replied in _WHOLE:
        if attributes.get(asked) is not None:
            return exchange_of(attributes[asked], attributes.get(replied), asked, replied, strict=strict)
    said = [one for one in map(_event_message, _events(fields)) if one is not None]
    if said:
        return said
    if attributes or "resourceSpans" in fields or "scopeSpans" in fields:
        raise UnusableError(_NO_WORDS)
    raise UnusableError("is a span of something else than a model: it has no attribute 'gen_ai...'")


def _events(fields: Fields) -> list[Fields]:
    events = decoded(fields.get("events"))
    return [one for one in events if isinstance(one, Mapping)] if isinstance(events, list) else []


def _event_message(event: Fields) -> Any:
    """The message of an event such as `gen_ai.user.message`; its words are in a body, or among its attributes."""
    name = str(event.get("name"))
    role = ASSISTANT if name == "gen_ai.choice" else name.removeprefix("gen_ai.").removesuffix(".message")
    if name != "gen_ai.choice" and name != f"gen_ai.{role}.message":
        return None
    said = dict(_flat(decoded(event.get("attributes"))))
    for held in (said.get("gen_ai.event.content"), event.get("body"), said.get("message")):
        inner = decoded(held)
        said |= dict(_flat(_typed(inner) if isinstance(inner, Mapping) and "kvlistValue" in inner else inner))
    content = decoded(said.get("content", said.get("message.content")))
    return {"role": role, "content": content if isinstance(content, str | list) else None}


def _numbered(attributes: Mapping[str, Any], prefix: str, side: str) -> Messages:
    """`gen_ai.prompt.0.role`, `gen_ai.prompt.0.content` ... as messages."""
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        number, _, rest = name.removeprefix(prefix).partition(".") if name.startswith(prefix) else ("", "", "")
        if number.isdecimal() and len(number) < 6:
            found.setdefault(int(number), {"role": side})[rest.removeprefix("message.")] = value
    messages = [found[number] for number in sorted(found)]
    for one in messages:
        # Content in parts is written as JSON text.
        one["content"] = decoded(one.get("content"))
        if not isinstance(one["content"], str | list):
            one["content"] = None
    return messages


# A row of some tools is none or several of those that a log is made of.


# Kinds of runs and observations in which nobody speaks; their inputs are what a program was given.
_OF_LANGSMITH = frozenset({"tool", "retriever", "embedding", "prompt", "parser"})
_OF_LANGFUSE = frozenset({"span", "event", "tool", "retriever", "embedding", "guardrail", "evaluator"})


def unfolded(rows: Iterable[Any]) -> Iterator[Any]:
    """The rows of a log: each span of an export is one, a comparison of two conversations is two.

    A span, run or observation that is not the call of a model is left out, as a message without text is.
    """
    for row in rows:
        unfold = _unfolding(tuple(row.fields)) if isinstance(row, Row) else None
        if unfold is None:
            yield row
        else:
            yield from unfold(row)


@lru_cache(maxsize=4096)
def _unfolding(names: tuple[str, ...]) -> Callable[[Row], Iterator[Row]] | None:
    present = {*names}
    if not present.isdisjoint(("resourceSpans", "scopeSpans")):
        return _spans
    shape = shape_of(names)
    if shape is not None and shape.read is _span_messages:
        return _model_span
    if "run_type" in present:
        return partial(_unless, "run_type", _OF_LANGSMITH)
    if "type" in present and not present.isdisjoint(("traceId", "trace_id")):
        return partial(_unless, "type", _OF_LANGFUSE)
    return _both if {"conversation_a", "conversation_b"} <= present else None


def _unless(name: str, kinds: Collection[str], row: Row) -> Iterator[Row]:
    if str(row.fields.get(name)).lower() not in kinds:
        yield row


def _model_span(row: Row) -> Iterator[Row]:
    if not _is_model_call(_attributes(row.fields)):
        return
    context = row.fields.get("context")
    if isinstance(context, Mapping) and id_column(tuple(row.fields)) is None:
        row = Row(row.number, row.line, {"id": context.get("trace_id"), **row.fields})
    yield row


def _spans(row: Row) -> Iterator[Row]:
    for span in _nested(row.fields, ("resourceSpans", "scopeSpans", "spans")):
        if _is_model_call(_attributes(span)):
            yield Row(row.number, row.line, span)


def _nested(value: Any, names: tuple[str, ...]) -> Iterator[Fields]:
    if not names:
        if isinstance(value, Mapping):
            yield value
        return
    inner = value.get(names[0]) if isinstance(value, Mapping) else None
    if inner is None and names[0] == "resourceSpans":  # a row of them alone
        yield from _nested(value, names[1:])
    for one in inner if isinstance(inner, list) else ():
        yield from _nested(one, names[1:])


def _both(row: Row) -> Iterator[Row]:
    """The answers of two models to the same person are two conversations."""
    column = id_column(tuple(row.fields))
    name = row.fields.get(column) if column else None
    rest = {key: value for key, value in row.fields.items() if key not in ("conversation_a", "conversation_b")}
    for side in ("a", "b"):
        own = {} if name is None else {"id": f"{name} {side}"}
        yield Row(row.number, row.line, {**rest, **own, "messages": row.fields[f"conversation_{side}"]})


# A value becomes messages: a text, a message, a list of them, a request, a response, or an object around one of these.


# What the text is called in an object that has one.
_TEXTS = {
    # promptfoo has `raw`: the prompt with its variables filled in
    USER: _words("question input query prompt user_input user_message user instruction message text content raw"),
    ASSISTANT: _words(
        "answer output response text content result message completion reply final_answer output_text "
        "generated_text assistant"
    ),
}
_HISTORY = ("chat_history", "history")
_REQUESTS = ("messages", "contents", "conversation", "conversations")
_RESPONSES = ("choices", "generations", "candidates")
_WRAPPERS = ("body", "kwargs", "data")


def messages_of(value: Any, side: str, name: str, *, strict: bool = False, depth: int = 0) -> Messages:
    """The messages in a value; a bare text is of `side`. UnusableError says why there are none.

    With `strict` (the cells of a table) a text that is JSON must be understood; else it may be what somebody wrote.
    """
    if depth > _MOST_DEPTH:
        raise UnusableError(f"'{name}' is nested too deeply")
    if value is None:
        return []
    if isinstance(value, str):
        return _of_text(value, side, name, strict, depth)
    if isinstance(value, list):
        return _of_list(value, side, name, strict, depth)
    if isinstance(value, Mapping):
        return _of_object(value, side, name, strict, depth)
    raise UnusableError(f"'{name}' is not text")


def is_packed(value: Any) -> bool:
    """Whether it is a text that holds a JSON object, a list of them or a JSON string; mere brackets are a text."""
    if not isinstance(value, str) or value[:1].isalnum():  # as nearly every text begins
        return False
    return _is_container(decoded(value)) if looks_like_json(value) else unquoted(value) is not value


def _is_container(value: Any) -> bool:
    return (isinstance(value, Mapping) and bool(value)) or (
        isinstance(value, list) and any(isinstance(one, Mapping | list) for one in value)
    )


def _of_text(text: str, side: str, name: str, strict: bool, depth: int) -> Messages:
    value = decoded(text)
    if not _is_container(value):
        return [{"role": side, "content": unquoted(text)}]
    try:
        return messages_of(value, side, name, strict=strict, depth=depth + 1)
    except UnusableError as reason:
        if strict:
            raise UnusableError(f"{reason}; the cell holds JSON, which nobody said") from None
        return [{"role": side, "content": text}]


def _of_list(values: list[Any], side: str, name: str, strict: bool, depth: int) -> Messages:
    if all(isinstance(one, list) for one in values):
        if all(_is_pair(one) for one in values):  # ["human", "Hello"]
            return [{"role": role, "content": text} for role, text in values]
        # One request of a batch.
        return messages_of(values[0] if values else None, side, name, strict=strict, depth=depth + 1)
    if all(isinstance(one, str) or _is_part(one) for one in values):
        return [{"role": side, "content": text_of(values)}]
    found = [_spoken(one, side) for one in values]
    if not all(isinstance(one, Mapping) for one in found):
        raise UnusableError(f"'{name}' is not a list of messages")
    if side == ASSISTANT and all(isinstance(one, Mapping) and role_of(one) is None for one in found):
        return messages_of(found[0], side, name, strict=strict, depth=depth + 1)  # of several answers the first
    return found


def _is_pair(value: list[Any]) -> bool:
    return len(value) == 2 and isinstance(value[1], str) and side_of(value[0]) is not None


def _is_part(value: Any) -> bool:
    return isinstance(value, Mapping) and role_of(value) is None and isinstance(value.get("type"), str)


def _spoken(message: Any, side: str) -> Any:
    """A message without a role is of the side that it was found on; OpenInference wraps each one."""
    if not isinstance(message, Mapping) or role_of(message) is not None:
        return message
    if isinstance(message.get("message"), Mapping):
        return message["message"]
    if isinstance(message.get("message.role"), str):
        return {"role": message["message.role"], "content": message.get("message.content")}
    return {**message, "role": side} if content_of(message) is not None else message


def _of_object(value: Fields, side: str, name: str, strict: bool, depth: int) -> Messages:
    inner = partial(messages_of, side=side, name=name, strict=strict, depth=depth + 1)
    if role_of(value) is not None:
        return [value]
    for key in _REQUESTS:
        if isinstance(decoded(value.get(key)), list):
            return inner(decoded(value[key]))
    for key in _RESPONSES:
        if isinstance(value.get(key), list) and value[key]:
            return _first_of(value[key], inner)
    text = next((name for name in _TEXTS[side] if value.get(name) is not None), None)
    if text is not None:
        past = next((value[name] for name in _HISTORY if isinstance(value.get(name), list) and value[name]), None)
        return [*inner(past), *inner(value[text])]
    for key in _WRAPPERS:
        if isinstance(value.get(key), Mapping):
            return inner(value[key])
    if value.keys() <= {*_TEXTS[side], *_HISTORY}:
        return []  # only nulls
    keys = shorten(", ".join(sorted(map(str, value))), 200)
    raise UnusableError(f"'{name}' has no text under a known name (it has: {keys})")


def _first_of(answers: Any, inner: Callable[[Any], Messages]) -> Messages:
    """The first answer of a response: a choice, a generation or a candidate."""
    first = answers[0]
    if isinstance(first, list):
        first = first[0] if first else None
    if isinstance(first, Mapping) and isinstance(first.get("message"), Mapping):
        return inner(first["message"])
    return inner(first)


# How a message says who speaks and what.


_LANGCHAIN = ("human", "ai", "system", "tool", "function", "AIMessageChunk", "HumanMessageChunk")
# Entries of a list of messages, in the Responses API, that are not messages.
_ENDINGS = ("_call", "_call_output", "_reference", "_list_tools", "_approval_request", "_approval_response")


def role_of(message: Fields) -> Any:
    """Who speaks, as the message says it; None where it does not."""
    role = message.get("role", message.get("from"))
    if role is not None:
        return role
    author = message.get("author")
    if author is not None:
        return author.get("role") if isinstance(author, Mapping) else author
    return _role_by_type(message)


def _role_by_type(message: Fields) -> str | None:
    kind = message.get("type")
    if kind in _LANGCHAIN:
        return str(kind).removesuffix("MessageChunk").lower()
    if kind == "constructor":  # a message of LangChain as it is serialised, by the name of its class
        inner, path = message.get("kwargs"), message.get("id")
        name = str(path[-1]) if isinstance(path, list) and path else ""
        if name.startswith("ChatMessage") and isinstance(inner, Mapping):
            return inner.get("role")
        return name.removesuffix("Chunk").removesuffix("Message").lower() if "Message" in name else None
    is_item = isinstance(kind, str) and (kind == "reasoning" or kind.endswith(_ENDINGS))
    return "tool" if is_item else None


def content_of(message: Fields) -> Any:
    """What a message holds: a text, or parts; None where it holds nothing that is said."""
    for key in ("content", "value", "parts", "text", "refusal"):
        content = message.get(key)
        if content:
            return _of_chatgpt(content) if isinstance(content, Mapping) else content
    inner = message.get("data", message.get("kwargs"))
    if isinstance(inner, Mapping):
        return inner.get("content")
    return message.get("content", message.get("value"))


def _of_chatgpt(content: Fields) -> Any:
    """`{"content_type": "text", "parts": [...]}`; thoughts, code and memories are not said."""
    kind = content.get("content_type")
    if kind is None:
        return content.get("text", content.get("parts", content))
    if kind not in ("text", "multimodal_text"):
        return ""
    parts = content.get("parts")
    return [part for part in parts if isinstance(part, str)] if isinstance(parts, list) else ""


# Which --map would probably read rows that no recogniser knows.


_MOST_LEAVES = 60
_NO_WORDS_OF_ANYONE = _words(
    "id name at time date model type version status lang language role object reason subject title tag tags email url"
)
_WORDS = {
    USER: _words("prompt question query asked ask user human customer client visitor input request instruction said"),
    ASSISTANT: _words("answer response reply completion assistant bot model agent output generated result"),
}


def probable_map(fields: Fields | Collection[str], others: Iterable[Fields] = ()) -> str:
    """`user=a.b,assistant=c`, by the names of texts and then by their order; empty where nothing is likely.

    A text is what holds a sentence in this row or in one of the others; of mere names, all are taken for texts.
    """
    paths = list(fields)
    if isinstance(fields, Mapping):
        rows = [fields, *others]
        paths = [path for path in _leaves(fields) if any(_is_sentence(value_at(row, path)) for row in rows)]
    texts = [path for path in paths if not _is_id(path) and "," not in path]
    user = next((path for path in texts if _is_called(path, USER)), None)
    assistant = next((path for path in texts if _is_called(path, ASSISTANT) and path != user), None)
    if len(texts) == 2 and not any("[" in path for path in texts):  # of a list, only the first of many would be read
        user = user or next(path for path in texts if path != assistant)
        assistant = assistant or next(path for path in texts if path != user)
    return f"user={user},assistant={assistant}{_probable_id(tuple(fields))}" if user and assistant else ""


def _is_sentence(value: Any) -> bool:
    """Whether it is what a person may say, and not a code, a role or a number; not all scripts have spaces."""
    return isinstance(value, str) and (len(value.split()) > 1 or (not value.isascii() and len(value) > 3))


# Names of rows that are too often those of something else to be read as ids without a map.
_LIKELY_IDS = _words("ticket_id ticket ticket_number case_id case_number message_id record_id")


def _probable_id(names: tuple[str, ...]) -> str:
    found = None if id_column(names) else first_called(_LIKELY_IDS, list(filter(_is_name, names)))
    return f",id={found}" if found and "," not in found else ""


def _leaves(value: Any, prefix: str = "", depth: int = 0) -> Iterator[str]:
    """The paths to texts, as --map writes them."""
    items: Iterable[tuple[str, Any]] = ()
    if isinstance(value, Mapping):
        items = ((f"{prefix}.{key}" if prefix else str(key), inner) for key, inner in value.items())
    elif isinstance(value, list):
        items = ((f"{prefix}[{number}]", inner) for number, inner in enumerate(value[:1]))
    for path, inner in list(items)[:_MOST_LEAVES]:
        if isinstance(inner, str) and inner.strip() and not looks_like_json(inner):
            yield path
        elif depth < 4:
            yield from _leaves(decoded(inner), path, depth + 1)


def _is_called(path: str, side: str) -> bool:
    words = fold(path.rpartition(".")[2])
    return any(word in words for word in _WORDS[side])


def _is_id(path: str) -> bool:
    return fold(path).endswith(_NO_WORDS_OF_ANYONE)
