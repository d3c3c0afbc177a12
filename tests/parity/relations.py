"""What a row of the table can say of the two sides of a difference, and of a scenario's history."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.parity.outcome import Difference

NOTE = r"\[An? [^\]]* (?:was attached here and left out|belongs here): [^\]]*\]"
"""The note that stands where media could not."""
_DOCUMENT = r"<document[^>]*>\n[^<]*\n</document>"
_NOTES = re.compile(rf"(?:(?:\n\n)?(?:{NOTE}|{_DOCUMENT}))+")
_OPENING = re.compile(r"\n\n\{\{PREFILL_ENFORCEMENT:.*?\}\}$", re.DOTALL)
_TAG = re.compile(r"</?[^>]*>")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffd]")


def texts(was: Any, now: Any) -> bool:
    return isinstance(was, str) and isinstance(now, str)


def shorter(was: Any, now: Any) -> bool:
    """What stood behind the words is no longer there."""
    return texts(was, now) and was != now and was.startswith(now)


def shorter_in_front(was: Any, now: Any) -> bool:
    """What stood in front of the words is no longer there."""
    return texts(was, now) and was != now and was.endswith(now)


def longer(was: Any, now: Any) -> bool:
    """Something stands behind the words now."""
    return texts(was, now) and was != now and now.startswith(was)


def longer_in_front(was: Any, now: Any) -> bool:
    """Something stands in front of the words now."""
    return texts(was, now) and was != now and now.endswith(was)


def notes_added(was: Any, now: Any) -> bool:
    """Behind the same words stand notes about media, or the words of documents."""
    if isinstance(was, list):
        was = "\n\n".join(part["text"] for part in was if part.get("type") == "text")
    return texts(was, now) and now.startswith(was) and bool(_NOTES.fullmatch(now[len(was) :]))


def opening_moved(was: Any, now: Any) -> bool:
    """The degraded opening no longer stands behind these words."""
    return texts(was, now) and _OPENING.sub("", was) == now


def opening_without_thoughts(was: Any, now: Any) -> bool:
    """The opening is the words alone, without thoughts in front of them."""
    return (
        texts(was, now) and re.sub(r"<thinking>.*?</thinking>\n\n", "", was, flags=re.DOTALL) == now
    )


def trimmed(was: Any, now: Any) -> bool:
    return texts(was, now) and was != now and was.rstrip() == now


def same_json(was: Any, now: Any) -> bool:
    """Equal as JSON: only the order of keys is another."""
    return texts(was, now) and json.loads(was) == json.loads(now)


def same_items(was: Any, now: Any) -> bool:
    """The same items as JSON, but for ids of reasoning that carries its own content."""
    if not texts(was, now):
        return False
    kept = [
        {key: value for key, value in item.items() if key != "id"}
        if item.get("type") == "reasoning" and item.get("encrypted_content") and "id" not in mine
        else item
        for item, mine in zip(json.loads(was), json.loads(now), strict=False)
    ]
    return kept == json.loads(now) and len(kept) == len(json.loads(was))


def same_lines(was: Any, now: Any) -> bool:
    """The same lines in another order."""
    return texts(was, now) and Counter(was.split("\n")) == Counter(now.split("\n"))


def same_data(was: Any, now: Any) -> bool:
    """The data of a data URI, padded as base64 has to be."""
    return texts(was, now) and was.rpartition(",")[2].rstrip("=") == now.rstrip("=")


def wrapped_result(was: Any, now: Any) -> bool:
    """A result that is no object, inside of one, word by word."""
    return isinstance(now, dict) and set(now) == {"result"} and json.loads(now["result"]) == was


def wrapped_arguments(was: Any, now: Any) -> bool:
    return isinstance(now, dict) and now == {"raw_arguments": was}


def blank_lines_gone(was: Any, now: Any) -> bool:
    """Only blank lines and the tags of empty elements are gone; every value still stands."""
    if not texts(was, now):
        return False
    gone = Counter(was.split("\n")) - Counter(now.split("\n"))
    come = Counter(now.split("\n")) - Counter(was.split("\n"))
    return not come and all(re.fullmatch(r"\s*(</?\w+>)?", line) for line in gone)


def other_tags(was: Any, now: Any) -> bool:
    """The same values in the same order, under tags of other names."""
    return texts(was, now) and _TAG.sub("<>", was) == _TAG.sub("<>", now)


def no_controls(was: Any, now: Any) -> bool:
    return texts(was, now) and _CONTROL.sub("", was) == _CONTROL.sub("", now)


def escaped(was: Any, now: Any) -> bool:
    """The same text, with what could close a tag escaped."""
    return texts(was, now) and html.unescape(now) == html.unescape(was) != now


def more(was: Any, now: Any) -> bool:
    return isinstance(was, int) and isinstance(now, int) and now > was


def fewer(was: Any, now: Any) -> bool:
    return isinstance(was, int) and isinstance(now, int) and now < was


# The history of a scenario


def _messages(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if isinstance(value.get("role"), str):
            yield value
        for item in value.values():
            yield from _messages(item)
    elif isinstance(value, list):
        for item in value:
            yield from _messages(item)


def unpaired(scenario: dict[str, Any], difference: Difference) -> bool:
    """Whether what is gone is the result of no call (or its second), what came a missing one's."""
    declared: Counter[str] = Counter()
    answered: Counter[str] = Counter()
    stray: set[str | None] = set()
    for message in _messages(scenario["input"]):
        declared.update(call.get("id") or "" for call in message.get("tool_calls") or [])
        if message["role"] == "tool":
            name = message.get("tool_call_id")
            if not name or answered[name] >= declared[name]:
                stray.add(name)
            else:
                answered[name] += 1
    if difference.kind == "missing":
        return isinstance(difference.was, dict) and difference.was.get("tool_call_id") in stray
    name = difference.now.get("tool_call_id") if isinstance(difference.now, dict) else None
    return name is not None and answered[name] < declared[name]


def media_joined(was: Any, now: Any) -> bool:
    """The words of a result as its first part, and media behind them."""
    if not isinstance(was, str) or not isinstance(now, list) or not now:
        return False
    return now[0].get("text") == was and all("source" in part for part in now[1:])


def called(scenario: dict[str, Any], call_id: Any) -> str | None:
    """The name of the function that the call with that id calls."""
    for message in _messages(scenario["input"]):
        for call in message.get("tool_calls") or []:
            if call.get("id") == call_id:
                return call["function"]["name"]
    return None


def written(scenario: dict[str, Any]) -> str:
    """The input as JSON text."""
    return json.dumps(scenario["input"], ensure_ascii=False)


def custom_call(scenario: dict[str, Any], call_id: str) -> bool:
    """Whether that is a call of a custom tool."""
    return any(
        call.get("id") == call_id and call.get("type") == "custom"
        for message in _messages(scenario["input"])
        for call in message.get("tool_calls") or []
    )


def moved_result(scenario: dict[str, Any], difference: Difference) -> bool:
    """Whether the same result stands in the record too: it is only at another place."""
    return difference.now in scenario["expected"]["history"]


def toggled(scenario: dict[str, Any]) -> set[str]:
    """The observers that another one adds or takes away."""
    return {op[key] for op in scenario["input"]["ops"] for key in ("adds", "removes") if key in op}


def failed_before(scenario: dict[str, Any], difference: Difference) -> bool:
    """Whether a compile of an earlier step failed in the record."""
    found = re.match(r"\$\.log\[(\d+)\]", difference.at)
    log = scenario["expected"].get("log", [])
    return found is not None and any("error" in record for record in log[: int(found[1])])


# Texts of the store


def only_dotted_more(was: Any, now: Any) -> bool:
    """The same listing or hits, with names that begin with a dot among them."""
    if not texts(was, now):
        return False
    new = [line for line in now.split("\n")[1:] if line not in was.split("\n")]
    old = [line for line in was.split("\n")[1:] if line not in now.split("\n")]
    return not old and bool(new) and all("/." in line for line in new)


def entry_more(was: Any, now: Any) -> bool:
    """One more entry of memory, whose key begins with a dot; the rest as it was."""
    if not texts(was, now):
        return False
    entry = re.compile(r'\n*<memory>.*?</memory>|<entry key="\..*?</entry>', re.DOTALL)
    return bool(re.search(r'<entry key="\.', now)) and set(_lines(entry.sub("", was))) <= set(
        _lines(now)
    )


def _lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()]


def listing_sorted(was: Any, now: Any) -> bool:
    """The same listing, its entries in the order of code points."""
    if not texts(was, now) or not same_lines(was, now):
        return False
    head, *entries = now.split("\n")
    return "entries)" in head and entries == sorted(entries)


def fewer_lines(was: Any, now: Any) -> bool:
    """The same text without some of its lines; their numbers do not count."""
    if not texts(was, now):
        return False
    bare = [re.sub(r"^ *\d+\t", "", line) for line in was.split("\n")]
    left = [re.sub(r"^ *\d+\t", "", line) for line in now.split("\n")]
    return left != bare and not Counter(left) - Counter(bare)


def more_words(was: Any, now: Any) -> bool:
    """Every word that was there, and more."""
    return (texts(was, now) and was != now and not Counter(was.split()) - Counter(now.split())) or (
        texts(was, now) and was.strip() != now.strip() and was.strip() in now.strip()
    )


def same_set_or_odd_name(scenario: dict[str, Any], difference: Difference) -> bool:
    """Whether the item stands in the record too, or has a name that the host treats as its own."""
    item = difference.was if difference.kind == "missing" else difference.now
    name = item.get("key") if isinstance(item, dict) else item
    return name in ("__proto__", "constructor") or json.dumps(
        item, ensure_ascii=False
    ) in json.dumps(scenario["expected"], ensure_ascii=False)


def damaged(scenario: dict[str, Any], difference: Difference) -> bool:
    """Whether the scenario has a file that is no entry."""
    if difference.kind == "raised":
        name = re.search(r"CorruptStoreError: '([^']+)'", str(difference.now))
        files = {file["path"].rpartition("/")[2]: file for file in scenario["input"]["files"]}
        file = files.get(name[1]) if name else None
    else:
        file = next((f for f in scenario["input"]["files"] if not _is_entry(f)), None)
    return file is not None and not _is_entry(file)


def _is_entry(file: dict[str, Any]) -> bool:
    try:
        entry = json.loads(file.get("content", "null"))
    except ValueError:
        return False
    return isinstance(entry, dict) and isinstance(entry.get("content"), str)


def match_shown(was: Any, now: Any) -> bool:
    """The same hits; the snippets show the match where they did not."""
    if not texts(was, now) or was.split("\n")[0] != now.split("\n")[0]:
        return False
    query = re.search(r'for "(.*?)" under', now)
    before, after = was.split("\n")[1:], now.split("\n")[1:]
    return (
        query is not None
        and [line.split(": ")[0] for line in before] == [line.split(": ")[0] for line in after]
        and all(
            old == new or (query[1].lower() not in old.lower() and query[1].lower() in new.lower())
            for old, new in zip(before, after, strict=True)
        )
    )


def same_actions(was: Any, now: Any) -> bool:
    """The same actions and arguments in the same words; only types are told otherwise."""
    if not texts(was, now):
        return False
    before = [re.sub(r" \([^)]*\)", "", line).rstrip() for line in was.split("\n")]
    after = [re.sub(r" \([^)]*\)", "", line).rstrip() for line in now.split("\n")]
    return len(before) == len(after) and all(
        old == new or new.startswith(f"{old}: ") for old, new in zip(before, after, strict=True)
    )


def by_words(scenario: dict[str, Any], difference: Difference) -> bool:
    """Whether going by words gives another answer to that task than going by parts of them."""
    found = re.match(r"\w+\[(\d+)\]", difference.at)
    steps = scenario["input"]["steps"]
    task = str(steps[int(found[1])].get("task", "")).lower() if found else ""
    item = difference.was if difference.kind == "missing" else difference.now
    return any(
        isinstance(item, int) or tool["name"] == item
        for step in steps
        for tool in step.get("tools") or []
        if _in_parts(tool, task) != _in_words(tool, task)
    )


def _terms(tool: dict[str, Any]) -> list[str]:
    return [tool["name"], *(tool.get("tags") or [])]


def _in_parts(tool: dict[str, Any], task: str) -> bool:
    return not tool.get("tags") or any(term.lower() in task for term in _terms(tool))


def _in_words(tool: dict[str, Any], task: str) -> bool:
    said = f" {_spaced(task)} "
    return not tool.get("tags") or any(f" {_spaced(term)} " in said for term in _terms(tool))


def _spaced(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", text.lower()))


def of_front_matter(scenario: dict[str, Any], difference: Difference) -> bool:
    """Whether every word that we read stands in a file of the scenario."""
    said = "\n".join(file.get("content", "") for file in scenario["input"]["files"])
    said = said.replace("\\n", " ")
    known = {*_words(said), *_words(said.replace(":", " "))}
    return all(set(_words(text)) <= known for text in _said(difference.now))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\s\"',\[\]]+", text)


def _said(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from _said(item)
    elif isinstance(value, list):
        for item in value:
            yield from _said(item)
    elif value is not None:
        yield str(value)


def filled(scenario: dict[str, Any], difference: Difference) -> bool:
    """Whether the text is made of the words of the instructions and of the arguments."""
    found = re.match(r"\w+\[(\d+)\]", difference.at)
    if found is None:
        return False
    step = scenario["input"]["steps"][int(found[1])]
    given = f"{step['skill']['instructions']} {step['options']['args']}"
    return set(_words(difference.now)) <= {*_words(given), "ARGUMENTS:"}


def positional(scenario: dict[str, Any], difference: Difference) -> bool:
    """Whether all that is gone is system messages from inside of the conversation."""
    if ".warnings" in difference.at:
        return any(_inside(scenario))
    gone = difference.was if isinstance(difference.was, list) else [difference.was]
    return all(block["text"] in set(_inside(scenario)) for block in gone)


def _inside(scenario: dict[str, Any]) -> Iterator[str]:
    spoken = False
    for message in _messages(scenario["input"]):
        spoken = spoken or message["role"] != "system"
        marked = message.get("_positional") or message.get("positional")
        if message["role"] == "system" and (marked or (spoken and "history" in scenario["input"])):
            yield message["content"]


def had_a_lifetime(scenario: dict[str, Any], difference: Difference) -> bool:
    """Whether the entry that is gone was given one, and time went by."""
    said = written(scenario)
    if not any(f'"op": "{name}"' in said for name in ("advance_clock", "compile", "memory_sweep")):
        return False
    item = difference.was.get("key") if isinstance(difference.was, dict) else difference.was
    config = scenario["input"].get("config") or {}
    bound = "default_ttl" in (config.get("memory") or {})
    for step in scenario["input"]["steps"]:
        limited = bound or step.get("ttl") is not None
        if limited and (difference.kind == "changed" or step.get("key") == item):
            return True
    return False


def entry_as_before(was: Any, now: Any) -> bool:
    """The same text around entries of memory whose values and counts are others."""
    entry = re.compile(r"update_count=\d+|updated_at=\S+|<value>\n\w*\n</value>")
    return texts(was, now) and was != now and entry.sub("", was) == entry.sub("", now)
