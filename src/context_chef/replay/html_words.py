"""What the report says first: what was replayed and what came out, for people new to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

from context_chef.replay.html_charts import too_large
from context_chef.replay.result import ReplayResult, Run, SessionReplay
from context_chef.replay.telling import Figures, figures_of, money, percent

_CONTROL: Final = {n: 0x2400 + n for n in range(32) if n not in (9, 10)} | {127: 0x2421}
_LINES: Final = {0x2028: "\u2424", 0x2029: "\u2424"}
_TURNS: Final = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "")
"""What makes text run the other way round; names and messages stand in the middle of ours."""
_SURROGATES: Final = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_HARMLESS: Final = str.maketrans(_CONTROL | _LINES | _TURNS | _SURROGATES)


class Case(NamedTuple):
    """One configuration over the sessions that are told about."""

    figures: Figures
    rejected: int
    """Requests that are larger than the window or break a rule of the provider."""
    first: str
    """Where the first of them is."""
    about: str
    """Model, window and strategy."""
    causes: tuple[tuple[str, int], ...]
    """Why the cache broke, and how often."""
    everywhere: bool
    """Whether rules over the turns of a session are broken."""

    @property
    def name(self) -> str:
        """The configuration's name."""
        return self.figures.name

    @property
    def sound(self) -> bool:
        """Whether the agent would have come through."""
        return not (self.rejected or self.everywhere or self.figures.errors)

    @property
    def lost(self) -> int:
        """Facts that the model cannot reach any more."""
        return self.figures.of("lost")


def shown(text: str) -> str:
    """Any text as HTML that shows it and does nothing else."""
    return escape(text.translate(_HARMLESS))


def cases_of(sessions: Sequence[SessionReplay]) -> list[Case]:
    """Every configuration over these sessions."""
    if not sessions:
        return []
    several = len(sessions) > 1
    return [
        _case([(session.name if several else "", run) for session, run in zip(sessions, runs,
              strict=True)])
        for runs in zip(*(session.runs for session in sessions), strict=True)
    ]  # fmt: skip


def _case(runs: Sequence[tuple[str, Run]]) -> Case:
    found = [
        (name, request.number)
        for name, run in runs
        for request in run.requests
        if too_large(request) or request.faults
    ]
    first = ""
    if found:
        name, number = found[0]
        first = f"request {number:,}{f' of {name}' if name else ''}"
    return Case(
        figures_of([run for _, run in runs]),
        len(found),
        first,
        _about([run for _, run in runs]),
        _causes([run for _, run in runs]),
        any(run.sequence_faults for _, run in runs),
    )


def _about(runs: Sequence[Run]) -> str:
    infos = [run.configuration for run in runs]
    models = {info.model or info.target for info in infos}
    windows = sorted({info.window for info in infos if info.window is not None})
    window = "no limit"
    if windows:
        window = " to ".join(f"{each:,}" for each in dict.fromkeys([windows[0], windows[-1]]))
        window = f"window {window}"
    parts = [models.pop() if len(models) == 1 else f"{len(models)} models", window]
    strategy = infos[0].strategy
    return " · ".join([*parts, *([strategy] if strategy not in ("", infos[0].name) else [])])


def _causes(runs: Sequence[Run]) -> tuple[tuple[str, int], ...]:
    times: dict[str, int] = {}
    for run in runs:
        for request in run.requests:
            for bust in request.busts:
                cause = f"{bust.cause} {bust.name}".strip()
                times[cause] = times.get(cause, 0) + 1
    return tuple(sorted(times.items(), key=lambda item: (-item[1], item[0])))


def counted(number: int, what: str) -> str:
    """`1 request`, `2 requests`."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def lead(result: ReplayResult) -> str:
    """What was done to get these figures."""
    sessions = result.sessions
    requests = sum(session.requests for session in sessions)
    if len(sessions) == 1:
        model = f" to {shown(sessions[0].model)}" if sessions[0].model else ""
        what = f"a recorded agent session, <b>{shown(sessions[0].name)}</b>, with its "
        what += f"{counted(requests, 'request')}{model}"
    else:
        what = f"{counted(len(sessions), 'recorded agent session')} with their "
        what += counted(requests, "request")
    runs = len(sessions[0].runs) if sessions else 0
    under = "one configuration" if runs == 1 else f"{runs} configurations"
    return (
        f"This page is about {what}. Every request was put together again under {under}, as if "
        f"{'it' if runs == 1 else 'each'} had been in charge from the start. It shows what the "
        "model would have been sent, what that costs, and what it could no longer see. No model "
        "was called: what it would have answered instead is not known."
    )


def findings(cases: Sequence[Case]) -> list[tuple[str, str]]:
    """Questions that everybody asks, and their answers, as HTML."""
    if not any(case.figures.totals.requests or case.figures.errors for case in cases):
        return []
    asked: list[tuple[str, str | None]] = [
        ("Would it have run?", _validity(cases)),
        ("What is sent, and what does it cost?", _savings(cases)),
        ("What leaves the window, and where is it then?", _leaving(cases)),
        ("What does the prompt cache do?", _cache(cases)),
    ]
    return [(question, answer) for question, answer in asked if answer]


def _names(cases: Sequence[Case], all_of: int) -> str:
    if len(cases) == all_of and all_of > 1:
        return "both configurations" if all_of == 2 else f"all {all_of} configurations"
    return _listed([f"<b>{shown(case.name)}</b>" for case in cases])


def _listed(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _validity(cases: Sequence[Case]) -> str:
    said: list[str] = []
    for case in (case for case in cases if not case.sound):
        name, figures = f"<b>{shown(case.name)}</b>", case.figures
        totals = figures.totals
        if case.rejected:
            why = f"{counted(totals.above, 'request')} of {totals.requests:,} "
            why += "is" if totals.above == 1 else "are"
            why += " larger than the window"
            if figures.window is not None:
                why += f" of {figures.window:,} tokens"
            if not totals.above:
                why = f"{counted(case.rejected, 'request')} of {totals.requests:,} "
                why += "breaks" if case.rejected == 1 else "break"
                why += " a rule of the provider"
            said.append(f"{name} would be rejected, first at {shown(case.first)}: {why}.")
        elif case.everywhere:
            said.append(f"{name} breaks a rule of the provider over several turns.")
        if figures.errors:
            said.append(f"{name} stopped early: {shown(figures.errors[0])}")
    sound = [case for case in cases if case.sound]
    if sound:
        names = _names(sound, len(cases))
        yes = "Yes, under " if not said else "Under "
        checked = sum(case.figures.totals.checked for case in sound)
        total = sum(case.figures.totals.requests for case in sound)
        how = f"; {checked:,} of {total:,} were held to its rules" if checked < total else ""
        yes = f"{yes}{names} no request is larger than its window" + (
            f", and none breaks a rule of the provider{how}."
            if checked
            else "; the provider's rules were not checked."
        )
        said.append(yes if len(cases) > 1 else yes.replace(f"Yes, under {names} no", "Yes: no"))
    mended = [case for case in cases if case.figures.totals.repairs]
    if mended:
        times = sorted({case.figures.totals.repairs for case in mended})
        many = f"{times[0]:,}" if len(times) == 1 else f"{times[0]:,} to {times[-1]:,}"
        said.append(
            f"Under {_names(mended, len(cases))} {many} "
            f"{'place' if times == [1] else 'places'} had to be mended first, "
            "which the provider would have refused as recorded."
        )
    return " ".join(said)


def _savings(cases: Sequence[Case]) -> str:
    priced = all(case.figures.priced for case in cases)
    if len(cases) == 1:
        totals = cases[0].figures.totals
        cost = f", for {money(totals.cost)}" if priced else ""
        return (
            f"{totals.sent:,} tokens in {counted(totals.requests, 'request')}, the largest of "
            f"{totals.peak:,}{cost}."
        )
    least, most = _ends(cases, lambda case: case.figures.totals.sent)
    if least is None or most is None:
        return f"All send the same: {cases[0].figures.totals.sent:,} tokens" + (
            f", for {money(cases[0].figures.totals.cost)}." if priced else "."
        )
    low, high = least.figures.totals.sent, most.figures.totals.sent
    void = "" if most.sound else ", which would not have run"
    said = (
        f"<b>{shown(least.name)}</b> sends the least: {low:,} tokens, "
        f"{percent(1 - low / high)} less than <b>{shown(most.name)}</b> with {high:,}{void}."
    )
    if not priced:
        return f"{said} What it costs is not known: there is no price for the model."
    cheap, dear = _ends(cases, lambda case: case.figures.totals.cost)
    if cheap is None or dear is None:
        return f"{said} All cost the same: {money(cases[0].figures.totals.cost)}."
    return (
        f"{said} <b>{shown(cheap.name)}</b> costs the least, {money(cheap.figures.totals.cost)}, "
        f"<b>{shown(dear.name)}</b> the most, {money(dear.figures.totals.cost)}."
    )


def _ends(
    cases: Sequence[Case], figure: Callable[[Case], float]
) -> tuple[Case | None, Case | None]:
    least, most = min(cases, key=figure), max(cases, key=figure)
    return (None, None) if figure(least) == figure(most) else (least, most)


def _leaving(cases: Sequence[Case]) -> str:
    left = [case for case in cases if case.figures.facts]
    if not left:
        return "Nothing leaves: every message is in every later request."
    said: list[str] = []
    kept = [case for case in left if not case.lost]
    if kept:
        said.append(
            f"Under {_names(kept, len(cases))} older messages leave and <b>nothing is lost</b>: "
            "each name, number, path, address, error and rule in them is still in the window, or "
            "stands at a <code>context://</code> address that the model reads with the "
            "<code>context</code> tool."
        )
    for case in (case for case in left if case.lost):
        rules = case.figures.counts.get("rule", {}).get("lost", 0)
        said.append(
            f"Under <b>{shown(case.name)}</b> {percent(case.figures.share('lost'))} of what the "
            f"older messages said is <b>lost</b> for the model: {case.lost:,} of "
            f"{case.figures.facts:,} facts"
            + (f", {counted(rules, 'rule')} that it was told to keep among them." if rules else ".")
        )
    still = [case for case in cases if not case.figures.facts]
    if still:
        said.append(f"Under {_names(still, len(cases))} nothing leaves.")
    return " ".join(said)


def _cache(cases: Sequence[Case]) -> str:
    shares = [(case, case.figures.totals.hit_share) for case in cases]
    low, high = min(share for _, share in shares), max(share for _, share in shares)
    between = (
        percent(low) if percent(low) == percent(high) else f"{percent(low)} to {percent(high)}"
    )
    said = (
        f"{between} of the input is read from it, at a fraction of the price: it serves whatever "
        "begins like a request shortly before."
    )
    broken = [case for case in cases if case.figures.totals.busts]
    if not broken:
        return f"{said} It never breaks."
    each = _listed(
        [
            f"<b>{shown(case.name)}</b> {counted(case.figures.totals.busts, 'time')} "
            f"({case.figures.totals.rebilled:,} tokens paid for again)"
            for case in broken
        ]
    )
    return f"{said} It breaks where something in front changes: under {each}."


def verdict(cases: Sequence[Case]) -> str:
    """The whole page in a sentence, as HTML; nothing when there is nothing to choose from."""
    if len(cases) < 2:
        return ""
    sound = [case for case in cases if case.sound]
    if not sound:
        return (
            "None of them would have come through: a larger window or another strategy is needed."
        )
    fewest = min(case.lost for case in sound)
    kept = [case for case in sound if case.lost == fewest]
    priced = all(case.figures.priced for case in kept)
    best = min(
        kept, key=lambda case: case.figures.totals.cost if priced else case.figures.totals.sent
    )
    loss = "lose nothing" if not fewest else f"lose least ({counted(fewest, 'fact')})"
    if len(kept) == 1:
        cost = money(best.figures.totals.cost)
        if len(sound) == 1:
            lost = f"loses {counted(fewest, 'fact') if fewest else 'nothing'}"
            cost = f" and costs {cost}" if priced else ""
            return f"Only <b>{shown(best.name)}</b> runs; it {lost}{cost}."
        only = "" if fewest else "only "
        cost = f"; it costs {cost}" if priced else ""
        return (
            f"Of the configurations that run, {only}<b>{shown(best.name)}</b> "
            f"{loss.replace('lose', 'loses')}{cost}."
        )
    what = f"cheapest: {money(best.figures.totals.cost)}" if priced else "smallest"
    same = {case.figures.totals.cost if priced else case.figures.totals.sent for case in kept}
    if len(same) == 1:
        return f"The configurations that run and {loss} all come to the same here: take any."
    return f"Of the configurations that run and {loss}, <b>{shown(best.name)}</b> is the {what}."


WORDS: Final[Iterable[tuple[str, str]]] = (
    ("request", "what an agent sends to the model each time: tools, system prompt, conversation."),
    ("token", "what models count text in; about four characters of English."),
    ("window", "how many tokens a model takes in one request. More is refused."),
    ("fold", "older messages leave the window; a summary or a notice stands for them."),
    ("fact", "an identifier, number, path, address, error or binding rule in messages that left."),
    ("by address", "not in the window, but behind a context:// address that it shows."),
    ("by search", "not in the window, but found by searching what was stored."),
    ("prompt cache", "the provider keeps the front of a request and charges less for it again."),
    ("cache break", "something in front changed, so that what was kept has to be paid for again."),
    ("mended", "changed on the way out, since the provider refuses it otherwise."),
)  # fmt: skip
