"""The report page in a real browser: keys, focus, looks, and that nothing runs or is fetched."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from context_chef.replay import ReplayResult
from context_chef.replay.html import html_page
from tests.replay.browser import NAMES, Browser, browser, find_browser
from tests.replay.pages import HARM, hostile, large, small

if os.environ.get("CONTEXT_CHEF_REQUIRE_BROWSER") and find_browser() is None:
    raise RuntimeError(f"a browser has to be there and is not: none of {', '.join(NAMES)}")

pytestmark = pytest.mark.skipif(
    find_browser() is None, reason=f"there is no browser; install one of {', '.join(NAMES)}"
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = {
        "small": small(),
        "several": ReplayResult(sessions=small().sessions * 2),
        "hostile": hostile(),
        "large": large(requests=1_000, runs=2),
    }
    paths = {name: folder / f"{name}.html" for name in made}
    for name, result in made.items():
        paths[name].write_text(html_page(result), "utf-8", newline="")
    return paths


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    with browser() as one:
        yield one


@pytest.fixture
def page(opened: Browser, pages: dict[str, Path]) -> Browser:
    opened.open(pages["small"])
    return opened


def _first_fold() -> int:
    return next(r.number for r in small().sessions[0].runs[0].requests if r.folds)


@pytest.mark.parametrize("name", ["small", "several", "hostile", "large"])
def test_nothing_is_logged_fetched_or_run(
    opened: Browser, pages: dict[str, Path], name: str
) -> None:
    opened.open(pages[name])
    opened.js("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    opened.click(".now .open")

    assert opened.js("document.querySelector('#viewer').open")
    assert opened.logged == []
    assert [at for at in opened.requested if at.partition(":")[0] not in ("file", "data")] == []
    assert len([at for at in opened.requested if at.startswith("file:")]) == 1
    assert opened.js("typeof window.harmed") == "undefined"
    assert opened.js("document.querySelectorAll('img, iframe, base').length") == 0


def test_hostile_text_is_shown_as_it_was_said(opened: Browser, pages: dict[str, Path]) -> None:
    opened.open(pages["hostile"])
    opened.click(".mark[data-lane=folds]")

    shown = opened.js("[...document.querySelectorAll('#viewer .spans pre')].map(e => e.innerHTML)")
    assert any("&lt;img src=x onerror=" in text for text in shown)
    assert HARM[0] in opened.js("document.querySelector('option').textContent")


def test_everything_is_reached_with_the_keyboard(page: Browser) -> None:
    first = _first_fold()
    seen: list[str] = []
    for _ in range(40):
        page.press("Tab")
        seen.append(page.js("document.activeElement.className || document.activeElement.tagName"))
        width = page.js("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
        assert width >= 2 or seen[-1] == "BODY"
        if "figure" in seen:
            break
    assert [name for name in seen if name in ("INPUT", "figure")][-1] == "figure"
    assert page.js("document.activeElement.getAttribute('role')") == "slider"

    page.press("Home", "f")
    assert page.js("document.activeElement.ariaValueNow") == str(first)
    page.press("ArrowRight", "ArrowLeft", "ArrowLeft")
    assert page.js("document.activeElement.ariaValueNow") == str(first - 1)
    assert page.js("document.querySelector('.steps output').textContent").startswith(
        f"request {first - 1} of 13"
    )
    page.press("ArrowRight", "Enter")
    assert page.js("document.querySelector('#viewer').open")
    assert f"Request {first}, drop" in page.js("document.querySelector('#viewer h2').textContent")
    page.press("ArrowRight")
    assert page.js("document.querySelector('#viewer h2').textContent").startswith(
        f"Request {first + 1},"
    )
    page.press("Escape")
    assert not page.js("document.querySelector('#viewer').open")
    assert page.js("document.activeElement.className") == "figure"
    assert page.js("document.activeElement.ariaValueNow") == str(first + 1)


def test_what_left_in_a_fold_is_read_word_for_word(page: Browser) -> None:
    session = small().sessions[0]
    fold = session.runs[1].requests[_fold_of(1) - 1].folds[0]

    page.click("#s0r1 .mark[data-lane=folds]")

    told = page.js("document.querySelector('#viewer .event.folds').textContent")
    assert all(session.texts[at].text in told for at in fold.left)
    assert all(uri in told for uri in fold.uris)
    assert page.js("document.activeElement.closest('.event.folds') !== null")


def _fold_of(run: int) -> int:
    return next(r.number for r in small().sessions[0].runs[run].requests if r.folds)


def test_a_request_is_shown_span_by_span_with_what_the_cache_held(page: Browser) -> None:
    session = small().sessions[0]
    run = session.runs[1]
    number = max(run.requests, key=lambda request: request.cache_read).number
    page.js("document.querySelector('#s0r1-figure').focus()")
    page.press("Home", *["ArrowRight"] * (number - 1), "Enter")

    shown = page.js("[...document.querySelectorAll('#viewer .inside > .spans pre')]"
                    ".map(one => one.textContent)")  # fmt: skip
    assert shown == [session.texts[at].text for at in run.spans(number)]
    cached = page.js("document.querySelectorAll('#viewer .inside > .spans .in-cache').length")
    assert 0 < cached < len(shown)
    assert page.js("document.querySelectorAll('#viewer .badge.new').length") >= 1


def test_without_scripts_summary_tables_and_pictures_are_there(
    opened: Browser, pages: dict[str, Path]
) -> None:
    opened.scripts(on=False)
    try:
        opened.open(pages["small"])
        words = opened.js("document.body.innerText")
        drawn = opened.js("document.querySelectorAll('.plot svg path').length")
        steps = opened.js("document.querySelector('.steps').checkVisibility()")
        linked = opened.js("document.querySelector('#s0r1 .mark').hash.slice(1)")
        found = opened.js(f"document.getElementById('{linked}').textContent")
    finally:
        opened.scripts(on=True)

    assert "What does the prompt cache do?" in words
    assert "Without JavaScript this page shows" in words
    assert "tokens sent" in words
    assert (drawn > 10, steps) == (True, False)
    assert "left" in found


@pytest.mark.parametrize(("width", "name"), [(360, "small"), (360, "hostile"), (768, "several")])
def test_no_width_makes_the_page_scroll_sideways(
    opened: Browser, pages: dict[str, Path], width: int, name: str
) -> None:
    opened.open(pages[name], width=width)

    assert opened.js("document.documentElement.scrollWidth") <= width
    opened.click(".now .open")
    assert opened.js("document.querySelector('#viewer .inside').scrollWidth") <= width


def test_dark_and_still_are_heeded(opened: Browser, pages: dict[str, Path]) -> None:
    def paper() -> int:
        said = opened.js("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in said[4:-1].split(","))

    opened.open(pages["small"], prefers_color_scheme="light", prefers_reduced_motion="reduce")
    assert paper() > 600
    assert opened.js("getComputedStyle(document.documentElement).scrollBehavior") == "auto"
    opened.open(pages["small"], prefers_color_scheme="dark")
    assert paper() < 120


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(
    opened: Browser, pages: dict[str, Path], scheme: str
) -> None:
    opened.open(pages["small"], prefers_color_scheme=scheme)

    weak = opened.js(_CONTRAST)

    assert weak == []


_CONTRAST = """
(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgb = (colour, under) => {
    canvas.fillStyle = `rgb(${under.join(',')})`; canvas.fillRect(0, 0, 1, 1);
    canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (c) => c.map(v => v / 255)
    .map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
  const behind = (one) => {
    const chain = [];
    for (let at = one; at; at = at.parentElement) {
      chain.unshift(getComputedStyle(at).backgroundColor);
    }
    return chain.reduce((under, colour) => rgb(colour, under), [255, 255, 255]);
  };
  const weak = new Set();
  for (const one of document.querySelectorAll('body *')) {
    if (one.closest('svg, script, .sr, [hidden]') || !one.checkVisibility()) continue;
    if (![...one.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
    const under = behind(one), over = rgb(getComputedStyle(one).color, under);
    const [a, b] = [light(under), light(over)].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) weak.add(`${one.tagName}.${one.className}`);
  }
  return [...weak];
})()
"""
