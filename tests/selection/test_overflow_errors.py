"""What providers say about a request that is too large is told from everything else they say."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.integrations.answering import Server, answering
from tests.shared_data import DATA, needs_data

from context_chef.errors import UnsendableError
from context_chef.selection.overflow_errors import ContextOverflow, read_overflow_error

CASSETTES = DATA / "cassettes"

OVERFLOWS_ON_RECORD = {
    "400--rig--context-overflow-streaming--0": (2009, 512, None),
    "400--ruby-llm--chat-real-error-scenarios-deepseek-deepseek-chat-handles-con--0": (
        1_250_025,
        1_048_565,
        0,
    ),
    "400--ruby-llm--chat-real-error-scenarios-ollama-cloud-gpt-oss-120b-handles--0": (
        None,
        None,
        None,
    ),
    "400--ruby-llm--chat-real-error-scenarios-openai-gpt-5-nano-handles-context--0": (
        None,
        None,
        None,
    ),
}
"""Of all recorded rejections these, with size, limit and output; every other one is none."""

# Text, provider, size, limit, output, excess. The wordings are those of the real servers.
SAID: list[tuple[str, str | None, int | None, int | None, int | None, int | None]] = [
    (
        "prompt is too long: 215000 tokens > 200000 maximum",
        "anthropic",
        215000,
        200000,
        None,
        15000,
    ),
    (
        "prompt is too long: 208,656 tokens \\u003e 200,000 maximum",
        "anthropic",
        208656,
        200000,
        None,
        8656,
    ),
    (
        "input length and `max_tokens` exceed context limit: \n 190000 +\n20000 > 200000, decrease "
        "input length or `max_tokens` and try again",
        "anthropic",
        190000,
        200000,
        20000,
        10000,
    ),
    ("input length and max_tokens exceed context limit", "anthropic", None, None, None, None),
    ("Request size exceeds model context window", "anthropic", None, None, None, None),
    (
        "This model's maximum context length is 128000 tokens. However, your messages resulted in "
        "202868 tokens (202767 in the messages, 101 in the functions). Please reduce the length.",
        "openai",
        202868,
        128000,
        None,
        74868,
    ),
    (
        "This model's maximum context length is 131072 tokens. However, you requested 139162 "
        "tokens (130970 in the messages, 8192 in the completion). Please reduce the length.",
        "openai",
        130970,
        131072,
        8192,
        8090,
    ),
    (
        "This model's maximum context length is 8191 tokens, however you requested 8238 tokens "
        "(8238 in your prompt; 0 for the completion).",
        "openai",
        8238,
        8191,
        0,
        47,
    ),
    (
        "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in "
        "289650 tokens. Please reduce the length of the messages.",
        "openai",
        289650,
        272000,
        None,
        17650,
    ),
    (
        "Your input exceeds the context window of this model. Please adjust your input.",
        "openai",
        None,
        None,
        None,
        None,
    ),
    (
        "This endpoint's maximum context length is 200000 tokens. However, you requested about "
        "230000 tokens (210000 of text input, 5000 of tool input, 15000 in the output).",
        "openai",
        215000,
        200000,
        15000,
        30000,
    ),
    (
        "This model's maximum context length is 202752 tokens. However, you requested 65536 output "
        "tokens and your prompt contains at least 137217 input tokens, for a total of at least "
        "202753 tokens. (parameter=input_tokens, value=137217)",
        "openai",
        137217,
        202752,
        65536,
        1,
    ),
    (
        "'max_tokens' or 'max_completion_tokens' is too large: 64000. This model's maximum context "
        "length is 64001 tokens and your request has 24235 input tokens (64000 > 64001 - 24235).",
        "openai",
        24235,
        64001,
        64000,
        24234,
    ),
    (
        "Requested token count exceeds the model's maximum context length of 131072 tokens. You "
        "requested a total of 200000 tokens: 190000 tokens from the input messages and 10000 "
        "tokens for the completion.",
        "openai",
        190000,
        131072,
        10000,
        68928,
    ),
    (
        "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
        "gemini",
        1200293,
        1048576,
        None,
        151717,
    ),
    (
        "The input token count exceeds the maximum number of tokens allowed 1048576.",
        "gemini",
        None,
        1048576,
        None,
        None,
    ),
    (
        "Unable to submit request because the input token count is 1251952 but model only supports "
        "up to 1048576. Reduce the input token count and try again.",
        "gemini",
        1251952,
        1048576,
        None,
        203376,
    ),
    (
        "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
        None,
        537812,
        131072,
        None,
        406740,
    ),
    ("prompt token count of 140000 exceeds the limit of 128000", None, 140000, 128000, None, 12000),
    (
        "Your request exceeded model token limit: 131072 (requested: 150000)",
        None,
        150000,
        131072,
        None,
        18928,
    ),
    (
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum "
        "context length",
        None,
        40000,
        32768,
        None,
        7232,
    ),
    (
        "Range of input length should be [1, 129024]",
        None,
        None,
        129024,
        None,
        None,
    ),
    (
        "prompt too long; exceeded max context length by 1119046 tokens (ref: 96164522)",
        None,
        None,
        None,
        None,
        1119046,
    ),
    (
        "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 4076 `inputs` tokens and 1024 "
        "`max_new_tokens`",
        None,
        4076,
        4097,
        1024,
        1003,
    ),
    (
        "The input exceeds the model's maximum context limit of 8192 tokens.",
        None,
        None,
        8192,
        None,
        None,
    ),
    (
        "Please reduce the length of the messages or completion. Current length is 40000 while "
        "limit is 32768",
        None,
        40000,
        32768,
        None,
        7232,
    ),
    (
        "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        None,
        None,
        8000,
        None,
        None,
    ),
    (
        "An error occurred (ValidationException) when calling the InvokeModel operation: Input is "
        "too long for requested model.",
        None,
        None,
        None,
        None,
        None,
    ),
    (
        "ValidationException: The model returned the following errors: prompt is too long: 227255 "
        "tokens > 200000 maximum",
        "anthropic",
        227255,
        200000,
        None,
        27255,
    ),
    (
        "the request exceeds the available context size, try increasing it",
        None,
        None,
        None,
        None,
        None,
    ),
    (
        "The number of tokens to keep from the initial prompt is greater than the context length",
        None,
        None,
        None,
        None,
        None,
    ),
    ("invalid params, context window exceeds limit (2013)", None, None, None, None, None),
    ("context length exceeded", None, None, None, None, None),
]

NOT_SAID = [
    "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, "
    "Requested 31538. The input or output tokens must be reduced in order to run successfully.",
    "Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000, Used 8554, Requested 3082.",
    "This request would exceed your organization's rate limit of 30,000 input tokens per minute.",
    "Too many tokens, please wait before trying again.",
    "Error code: 429 - prompt is too long",
    "Quota exceeded for metric: generate_content_free_tier_input_token_count, limit: 250000",
    "max_tokens is too large: 8192. This model supports at most 4096 completion tokens, whereas "
    "you provided 8192.",
    "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude",
    "max_tokens (9000) exceeds this model's maximum context length of 8192 tokens",
    "Unable to submit request because it has a maxOutputTokens value of 99999 but the supported "
    "range is from 1 (inclusive) to 65537 (exclusive).",
    "`max_tokens` must be greater than `thinking.budget_tokens`",
    "Invalid 'messages[2].tool_calls[0].id': string too long. Expected a string with maximum "
    "length 40, but got a string with length 60 instead.",
    "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array "
    "with length 150 instead.",
    "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880",
    "Your credit balance is too low to access the Anthropic API.",
    "Overloaded",
    "",
]


def figures(found: ContextOverflow) -> tuple[Any, ...]:
    return (
        found.provider,
        found.size_tokens,
        found.limit_tokens,
        found.output_tokens,
        found.excess_tokens,
    )


def recordings(folder: str) -> list[Any]:
    return sorted(CASSETTES.glob(f"*/{folder}/*.json"))


@needs_data
@pytest.mark.parametrize("path", recordings("rejected"), ids=lambda path: path.stem)
def test_every_recorded_rejection_is_judged_rightly(path: Any) -> None:
    body = json.loads(path.read_text("utf-8"))["response"]
    found = read_overflow_error(body)

    if path.stem not in OVERFLOWS_ON_RECORD:
        assert found is None
    else:
        assert found is not None
        size = (found.size_tokens, found.limit_tokens, found.output_tokens)
        assert size == OVERFLOWS_ON_RECORD[path.stem]
        assert found.provider == "openai"
        assert read_overflow_error(json.dumps(body)) == found
        assert read_overflow_error(json.dumps(body).encode()) == found


@needs_data
def test_the_table_names_recordings_that_exist() -> None:
    assert OVERFLOWS_ON_RECORD.keys() <= {path.stem for path in recordings("rejected")}


@needs_data
def test_none_of_the_quoted_rejections_is_an_overflow() -> None:
    quoted = json.loads((CASSETTES / "rejections_quoted_in_issues.json").read_text("utf-8"))

    assert quoted["entries"]
    for entry in quoted["entries"]:
        assert read_overflow_error(entry["message"]) is None, entry["id"]


@needs_data
def test_no_successful_answer_is_an_overflow() -> None:
    for path in recordings("accepted"):
        answer = json.loads(path.read_text("utf-8")).get("response")
        assert read_overflow_error(answer) is None, path.stem


@pytest.mark.parametrize("row", SAID, ids=lambda row: row[0][:40])
def test_the_figures_are_read_out_of_every_known_wording(row: tuple[Any, ...]) -> None:
    text, *expected = row
    found = read_overflow_error(text)

    assert found is not None
    assert figures(found) == tuple(expected)
    assert found.measure == "tokens"
    assert found.message == text


@pytest.mark.parametrize("row", SAID, ids=lambda row: row[0][:40])
def test_a_wrappers_exception_says_the_same(row: tuple[Any, ...]) -> None:
    text = row[0]
    wrapped = RuntimeError(
        f"litellm.BadRequestError: XException - b'{json.dumps({'error': text})}'"
    )

    for error in (
        RuntimeError(text),
        wrapped,
        {"error": {"message": json.dumps({"message": text})}},
    ):
        found = read_overflow_error(error)
        assert found is not None
        assert figures(found)[1:] == row[2:]


@pytest.mark.parametrize("text", NOT_SAID, ids=lambda text: text[:40])
def test_other_rejections_are_none(text: str) -> None:
    assert read_overflow_error(text) is None
    assert read_overflow_error(RuntimeError(text)) is None
    assert read_overflow_error({"type": "error", "error": {"type": "x", "message": text}}) is None


@pytest.mark.parametrize(
    ("text", "measure"),
    [
        ("Request exceeds the maximum size", "bytes"),
        ("Request payload size exceeds the limit: 20971520 bytes.", "bytes"),
        ("Maximum request body size 1048576 exceeded, actual body size 1056562", "bytes"),
        ("messages: too many total text bytes: 12000000 > 9000000", "bytes"),
        ("413 Request Entity Too Large", "bytes"),
        (
            "Invalid 'input[0].content': string too long. Expected a string with maximum length "
            "10485760, but got a string with length 62114761 instead.",
            "characters",
        ),
        ("Malformed input request: expected maxLength: 42000, actual: 46735", "characters"),
    ],
)
def test_what_is_no_matter_of_tokens_says_so(text: str, measure: str) -> None:
    found = read_overflow_error(text)

    assert found is not None
    assert found.measure == measure
    assert (found.size_tokens, found.limit_tokens, found.excess_tokens) == (None, None, None)


def test_what_is_left_for_a_request_is_the_limit_without_the_answer() -> None:
    found = read_overflow_error("input length and `max_tokens` exceed context limit: 9 + 4 > 10")

    assert found is not None
    assert found.room_tokens == 6
    assert ContextOverflow(message="").room_tokens is None


# The official clients, against a server of our own.


@pytest.fixture
def server() -> Iterator[Server]:
    with answering() as served:
        yield served


def ask_anthropic(url: str) -> object:
    client = anthropic.Anthropic(api_key="k", base_url=url, max_retries=0)
    said: Any = [{"role": "user", "content": "x"}]
    return client.messages.create(model="claude-opus-4-8", max_tokens=9, messages=said)


def ask_chat(url: str) -> object:
    client = openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
    said: Any = [{"role": "user", "content": "x"}]
    return client.chat.completions.create(model="gpt-4o", messages=said)


def ask_responses(url: str) -> object:
    client = openai.OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)
    return client.responses.create(model="gpt-5.1", input="x")


def ask_gemini(url: str) -> object:
    client = genai.Client(api_key="k", http_options={"base_url": url})
    return client.models.generate_content(model="gemini-2.5-pro", contents="x")


def anthropic_body(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def openai_body(message: str, code: str | None) -> dict[str, Any]:
    kind = "invalid_request_error"
    return {"error": {"message": message, "type": kind, "param": "messages", "code": code}}


def gemini_body(message: str, status: str = "INVALID_ARGUMENT", code: int = 400) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "status": status}}


def error_of(server: Server, ask: Callable[[str], object], status: int, body: Any) -> Exception:
    server.status, server.answer = status, body
    with pytest.raises((anthropic.APIError, openai.APIError, genai.errors.APIError)) as raised:
        ask(server.url)
    return raised.value


@pytest.mark.parametrize(
    ("ask", "status", "body", "expected"),
    [
        (
            ask_anthropic,
            400,
            anthropic_body("prompt is too long: 215000 tokens > 200000 maximum"),
            ("anthropic", 215000, 200000, None, 15000),
        ),
        (
            ask_anthropic,
            413,
            anthropic_body("Request exceeds the maximum size", "request_too_large"),
            ("anthropic", None, None, None, None),
        ),
        (ask_anthropic, 413, "<html>no</html>", ("anthropic", None, None, None, None)),
        (
            ask_chat,
            400,
            openai_body(SAID[5][0], "context_length_exceeded"),
            ("openai", 202868, 128000, None, 74868),
        ),
        (
            ask_chat,
            400,
            openai_body("Nein.", "context_length_exceeded"),
            ("openai", None, None, None, None),
        ),
        (
            ask_responses,
            400,
            openai_body(SAID[9][0], "context_length_exceeded"),
            ("openai", None, None, None, None),
        ),
        (
            ask_chat,
            400,
            {
                "error": {
                    "code": 400,
                    "message": "too big",
                    "n_ctx": 512,
                    "n_prompt_tokens": 2009,
                    "type": "exceed_context_size_error",
                }
            },
            ("openai", 2009, 512, None, 1497),
        ),
        (ask_gemini, 400, gemini_body(SAID[14][0]), ("gemini", 1200293, 1048576, None, 151717)),
        (ask_gemini, 400, [gemini_body(SAID[15][0])], ("gemini", None, 1048576, None, None)),
    ],
)
def test_an_exception_of_an_official_client_is_read(
    server: Server, ask: Callable[[str], object], status: int, body: Any, expected: tuple[Any, ...]
) -> None:
    found = read_overflow_error(error_of(server, ask, status, body))

    assert found is not None
    assert figures(found) == expected
    assert found.measure == ("bytes" if status == 413 else "tokens")


@pytest.mark.parametrize(
    ("ask", "status", "body"),
    [
        (ask_anthropic, 429, anthropic_body("prompt is too long", "rate_limit_error")),
        (ask_anthropic, 400, anthropic_body("messages: text content blocks must be non-empty")),
        (ask_anthropic, 529, anthropic_body("Overloaded", "overloaded_error")),
        (ask_chat, 429, openai_body(NOT_SAID[0], "rate_limit_exceeded")),
        (ask_chat, 413, openai_body(NOT_SAID[0], "rate_limit_exceeded")),
        (ask_chat, 400, openai_body(NOT_SAID[6], None)),
        (ask_responses, 401, openai_body("Incorrect API key", "invalid_api_key")),
        (ask_gemini, 429, gemini_body("Resource exhausted.", "RESOURCE_EXHAUSTED", 429)),
        (ask_gemini, 400, gemini_body("Please use a valid role: user, model.")),
    ],
)
def test_other_exceptions_of_an_official_client_are_none(
    server: Server, ask: Callable[[str], object], status: int, body: Any
) -> None:
    assert read_overflow_error(error_of(server, ask, status, body)) is None


# Wrappers and chains.


def raised(outer: Exception, inner: Exception, *, explicit: bool = False) -> Exception:
    try:
        try:
            raise inner
        except Exception as error:
            if explicit:
                raise outer from error
            raise outer  # noqa: B904  # the implicit context is the point
    except Exception as error:  # noqa: BLE001  # ours, from right above
        return error


class Answered(Exception):
    def __init__(self, status_code: int, message: str) -> None:
        self.status_code = status_code
        super().__init__(message)


OVERFLOW = Answered(400, "prompt is too long: 215000 tokens > 200000 maximum")


def test_the_cause_behind_a_wrapper_is_read() -> None:
    for explicit in (True, False):
        found = read_overflow_error(raised(ValueError("agent failed"), OVERFLOW, explicit=explicit))
        assert found is not None
        assert found.size_tokens == 215000


def test_an_answer_of_its_own_is_not_mistaken_for_the_one_being_handled() -> None:
    for other in (Answered(429, "rate limited"), Answered(401, "no"), Answered(400, "bad role")):
        assert read_overflow_error(raised(other, OVERFLOW)) is None


def test_an_explicit_cause_counts_even_behind_a_status() -> None:
    assert read_overflow_error(raised(Answered(502, "bad gateway"), OVERFLOW, explicit=True))


def test_a_suppressed_context_does_not_count() -> None:
    error = ValueError("mine")
    error.__context__, error.__suppress_context__ = OVERFLOW, True

    assert read_overflow_error(error) is None


def test_a_group_of_exceptions_is_searched() -> None:
    group = ExceptionGroup("tasks", [ValueError("x"), ExceptionGroup("inner", [OVERFLOW])])
    found = read_overflow_error(group)

    assert found is not None
    assert found.size_tokens == 215000


def test_a_ring_of_causes_comes_to_an_end() -> None:
    one, two = ValueError("a"), ValueError("b")
    one.__cause__, two.__cause__ = two, one

    assert read_overflow_error(one) is None


def test_a_wrappers_class_name_is_enough_and_the_figures_come_from_behind_it() -> None:
    class ContextWindowExceededError(Exception):
        pass

    bare = read_overflow_error(ContextWindowExceededError("too much"))
    behind = read_overflow_error(raised(ContextWindowExceededError("no"), OVERFLOW, explicit=True))

    assert bare is not None
    assert bare.message == "too much"
    assert behind is not None
    assert behind.size_tokens == 215000


def test_the_answer_of_an_aws_client_is_read() -> None:
    error = Exception("An error occurred")
    error.response = {  # type: ignore[attr-defined]  # as botocore has it
        "Error": {"Code": "ValidationException", "Message": SAID[28][0]},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }
    found = read_overflow_error(error)

    assert found is not None
    assert found.limit_tokens == 200000


def test_a_failed_response_of_a_stream_is_read() -> None:
    event = {
        "type": "response.failed",
        "response": {
            "status": "failed",
            "error": {"code": "context_length_exceeded", "message": "x"},
        },
    }

    assert read_overflow_error(event) is not None


def test_an_error_of_our_own_is_none() -> None:
    assert read_overflow_error(UnsendableError("openai", ["it exceeds the context window"])) is None


def test_words_of_a_model_or_a_user_in_a_body_are_not_the_providers() -> None:
    said = "prompt is too long: 215000 tokens > 200000 maximum"

    assert read_overflow_error({"content": [{"type": "text", "text": said}]}) is None
    assert read_overflow_error({"choices": [{"message": {"content": said}}]}) is None


def test_a_sentence_at_the_end_of_a_long_text_is_found() -> None:
    found = read_overflow_error("x" * 200_000 + " prompt is too long: 11 tokens > 10 maximum")

    assert found is not None
    assert found.size_tokens == 11
    assert len(found.message) <= 2_000


class Hostile(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    def __getattr__(self, name: str) -> Any:
        raise LookupError(name)


@pytest.mark.parametrize(
    "odd", [None, 3, object(), Hostile(), {1: 2}, b"\xff\x00", "1" * 100_000], ids=range(7)
)
def test_odd_things_are_none(odd: object) -> None:
    assert read_overflow_error(odd) is None


PIECES = st.sampled_from([row[0] for row in SAID] + NOT_SAID + ["413", "9" * 5000, "[" * 2000])
TEXT = st.one_of(st.text(max_size=60), PIECES, st.tuples(PIECES, PIECES).map("".join))
JSON_LIKE = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), TEXT, st.binary(max_size=40)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(["error", "message", "code", "status", "type", "body", "n_ctx"]), inner
        ),
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(value=JSON_LIKE, inner=JSON_LIKE)
def test_reading_never_raises(value: Any, inner: Any) -> None:
    error = Exception(value)
    for name in ("message", "body", "response", "status_code", "code", "details"):
        setattr(error, name, inner)

    for source in (value, error, raised(ValueError(str(value)), error)):
        found = read_overflow_error(source)
        assert found is None or isinstance(found, ContextOverflow)
