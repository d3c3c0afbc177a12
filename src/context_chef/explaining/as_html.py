"""Explanations and differences as HTML pages that need nothing else: no script, no other file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from context_chef.explaining.as_text import money_text
from context_chef.explaining.rules import kind_of_source
from context_chef.ir.report import Span

if TYPE_CHECKING:
    from context_chef.explaining.diff import Difference, PayloadDiff
    from context_chef.explaining.explanation import Explanation

HUES: Final = {
    "tool": 262,
    "provider": 262,
    "toolkit": 280,
    "toolkits": 280,
    "system_prompt": 215,
    "memory_instruction": 170,
    "skill": 312,
    "memory": 165,
    "history": 45,
    "fold": 20,
    "dynamic_state": 130,
    "announcement": 95,
    "announcements": 95,
    "guardrail": 350,
    "prefill": 350,
    "implicit_context": 190,
    "before-assemble": 190,
    "after-assemble": 190,
    "after-adapt": 190,
    "slot": 190,
    "repair": 0,
    "caller": 0,
}
"""The colour of each kind of source, as an angle of the colour wheel."""

_LARGEST: Final = 12

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c1f24;--paper:#fff;--soft:#5a6270;--line:#d7dbe2;
--well:#f5f6f8;--light:92%;--edge:45%;--gone:#b3261e;--come:#1b6e3c}
@media (prefers-color-scheme:dark){:root{--ink:#e8eaee;--paper:#16181c;--soft:#a3abb8;
--line:#363b44;--well:#1f2227;--light:20%;--edge:62%;--gone:#ff8a80;--come:#7fd8a0}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:72rem;padding:1.5rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.4rem;margin:0 0 .25rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}
p{margin:.25rem 0}.soft{color:var(--soft)}
table{border-collapse:collapse;width:100%}caption{text-align:left;color:var(--soft)}
th,td{padding:.3rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
.bar{display:flex;height:1.6rem;border-radius:.3rem;overflow:hidden;margin:.5rem 0}
.bar span{min-width:1px;background:hsl(var(--h) 60% var(--edge))}
.key{display:inline-block;width:.8em;height:.8em;border-radius:.2em;margin-right:.4em;
background:hsl(var(--h) 60% var(--edge))}
details{border-left:.35rem solid hsl(var(--h) 60% var(--edge));
background:hsl(var(--h) 60% var(--light));margin:.25rem 0;border-radius:.25rem}
summary{padding:.35rem .6rem;cursor:pointer;display:flex;gap:.75rem;flex-wrap:wrap}
summary:focus-visible,a:focus-visible{outline:3px solid #4c8dff;outline-offset:2px}
summary b{font-weight:600}summary .grow{flex:1;min-width:8rem;overflow:hidden;
text-overflow:ellipsis;white-space:nowrap;color:var(--soft)}
pre{margin:0;padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere;background:var(--well);
font:13px/1.45 ui-monospace,monospace;max-height:30rem;overflow:auto}
del,ins{text-decoration:none;font-weight:600}del{color:var(--gone)}ins{color:var(--come)}
del:before{content:"\\2212\\a0"}ins:before{content:"+ "}
.tag{border:1px solid var(--line);border-radius:1em;padding:0 .6em;font-size:.85em;
background:var(--paper)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1rem}dt{color:var(--soft)}
dd{margin:0}
details.more{border:0;background:none}details.more summary{padding-left:0;color:var(--soft)}
"""


def hue(source: str) -> int:
    """The colour of a source; the same in every page."""
    known = HUES.get(source, HUES.get(kind_of_source(source)))
    if known is not None:
        return known
    return int.from_bytes(hashlib.sha256(source.encode()).digest()[:2], "big") % 360


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page. `parts` are HTML already; the title is escaped here."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body></html>\n"
    )


def explanation_html(explanation: Explanation) -> str:
    """The explanation as a page."""
    model = f" · {explanation.model}" if explanation.model else ""
    title = f"{explanation.target}{model}: {explanation.tokens:,} tokens"
    parts = [f"<h1>{escape(title)}</h1>", *_summary(explanation)]
    parts += _sources(explanation)
    parts.append("<h2>The request, in the order in which the provider reads it</h2>")
    parts += [_span(span, explanation.words(span)) for span in explanation.spans]
    if explanation.out:
        parts.append("<h2>Left out</h2>")
        parts.append(
            _table(
                "What is not in the request, why, and where it can be read",
                ("source", "tokens", "why", "where", "text"),
                [
                    (s.source, f"{s.tokens:,}", s.reason or "", s.uri or "", s.preview)
                    for s in explanation.out
                ],
                numbers=(1,),
            )
        )
    for heading, rows in (
        ("Mended", [(one.where, one.message, one.rule) for one in explanation.repairs]),
        (
            "Not carried as it was",
            [(one.where, one.message, one.code) for one in explanation.diagnostics],
        ),
    ):
        if rows:
            parts.append(f"<h2>{heading}</h2>")
            parts.append(_table(heading, ("where", "what", "rule"), rows))
    return page(title, parts)


def _summary(explanation: Explanation) -> list[str]:
    rows: list[tuple[str, str]] = []
    if explanation.price is not None:
        rows.append(("sent when nothing is cached", money_text(explanation.price.cost)))
    cache = explanation.cache
    if cache is not None:
        until = f", up to {cache.kept_until}" if cache.kept_until else ""
        rows.append(("kept for the next request", f"{cache.kept_tokens:,} tokens{until}"))
        if cache.marks:
            marks = ", ".join(f"{path} ({ttl})" for path, ttl in cache.marks)
            rows.append(("breakpoints", marks))
        if cache.note:
            rows.append(("note", cache.note))
    cells = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in rows)
    return [f"<dl>{cells}</dl>"] if cells else []


def _sources(explanation: Explanation) -> list[str]:
    total = max(explanation.tokens, 1)
    sources = {name: count for name, count in explanation.by_source.items() if count > 0}
    bar = "".join(
        f'<span style="--h:{hue(span.source)};width:{span.tokens / total:.3%}" '
        f'title="{escape(span.source)}: {span.tokens:,}"></span>'
        for span in explanation.spans
        if span.tokens > 0
    )
    rows = [
        f'<tr><td><span class="key" style="--h:{hue(name)}"></span>{escape(name)}</td>'
        f'<td class="n">{count:,}</td><td class="n">{count / total:.1%}</td></tr>'
        for name, count in sources.items()
    ]
    parts = [
        "<h2>Who brought the tokens</h2>",
        f'<div class="bar" aria-hidden="true">{bar}</div>',
        '<p class="soft">The request from its beginning to its end, coloured by source.</p>',
        _source_table("Tokens by source, the largest first", rows[:_LARGEST]),
    ]
    if len(rows) > _LARGEST:
        rest = len(rows) - _LARGEST
        parts.append(
            f"<details class=more><summary>and {rest} more</summary>"
            f"{_source_table('The other sources', rows[_LARGEST:])}</details>"
        )
    return parts


def _source_table(caption: str, rows: Sequence[str]) -> str:
    return (
        f'<table><caption>{escape(caption)}</caption><thead><tr><th scope="col">source</th>'
        '<th scope="col" class="n">tokens</th><th scope="col" class="n">share</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def _span(span: Span, words: str) -> str:
    tags = [span.place]
    if span.place != "settings":
        tags.append({True: "cached", False: "not cached", None: "cache unknown"}[span.cached])
    if span.repairs:
        tags.append("mended")
    told = "".join(f'<span class="tag">{escape(tag)}</span>' for tag in tags)
    rule = f"<p>{escape(span.rule)}</p>" if span.rule else ""
    mended = f"<p>mended: {escape(', '.join(span.repairs))}</p>" if span.repairs else ""
    where = f'<p class="soft">{escape(span.path)}</p>'
    return (
        f'<details style="--h:{hue(span.source)}"><summary><b>{escape(span.source)}</b>'
        f'<span class="grow">{escape(span.preview)}</span><span>{span.tokens:,}</span>{told}'
        f"</summary>{where}{rule}{mended}<pre>{escape(words)}</pre></details>"
    )


def _table(
    caption: str,
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
) -> str:
    def kind(at: int) -> str:
        return ' class="n"' if at in numbers else ""

    head = "".join(
        f'<th scope="col"{kind(at)}>{escape(name)}</th>' for at, name in enumerate(heads)
    )
    body = "".join(
        "<tr>"
        + "".join(f"<td{kind(at)}>{escape(cell)}</td>" for at, cell in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def diff_html(found: PayloadDiff) -> str:
    """The difference as a page."""
    if found.first is None:
        return page("The same request", ["<h1>The two requests are the same</h1>"])
    first = found.first
    parts = [
        f"<h1>The requests part at <code>{escape(first.path)}</code></h1>",
        f"<p><b>{escape(first.cause.message)}</b> "
        f'<span class="tag">{escape(first.cause.kind)}</span></p>',
        _before_and_after(first),
    ]
    if found.requests is not None:
        second = found.requests[1]
        written = sum(second.written.values())
        rows = [
            ("billed again", f"{found.rebilled_tokens:,} tokens"),
            ("that costs in addition", money_text(found.rebilled_cost)),
            ("read from the cache", f"{second.read:,} of {second.input:,} tokens"),
            ("written to it", f"{written:,} tokens"),
            ("the second request costs", money_text(second.cost)),
        ]
        if found.note:
            rows.append(("note", found.note))
        cells = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in rows)
        parts += ["<h2>What a cache makes of it</h2>", f"<dl>{cells}</dl>"]
    rest = found.differences[1:]
    if rest:
        parts.append("<h2>Also different</h2>")
        for one in rest:
            parts.append(
                f'<details style="--h:{hue(one.cause.source)}"><summary><b>{escape(one.path)}</b>'
                f'<span class="grow">{escape(one.cause.message)}</span>'
                f'<span class="tag">{escape(one.cause.kind)}</span></summary>'
                f"{_before_and_after(one)}</details>"
            )
    return page(f"Difference at {first.path}: {first.cause.message}", parts)


def _before_and_after(one: Difference) -> str:
    lines: list[str] = []
    if one.before:
        lines.append(f"<del>{escape(one.before)}</del>")
    if one.after:
        lines.append(f"<ins>{escape(one.after)}</ins>")
    return f"<pre>{chr(10).join(lines)}</pre>"
