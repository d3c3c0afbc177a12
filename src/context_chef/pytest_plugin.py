"""pytest plugin: the fixture `replay` holds recorded sessions to what a team wants of them.

Loaded by pytest wherever context-chef is installed, so nothing but pytest is imported here until a
test asks for the fixture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from context_chef.replay.asserting import Replayed


class Replays:
    """The fixture `replay`: call it with a recorded session and the settings to hold it to.

    `replay("session.jsonl", config="chef.toml")`, `replay("sessions/", strategy="clear+summarize",
    window="32k")`, `replay(path, settings={"janitor": {…}})`. Paths are relative to the test's own
    file. The same question in several tests is worked out once.
    """

    def __init__(self, folder: Path, known: dict[Any, Replayed]) -> None:
        self._folder = folder
        self._known = known

    def __call__(
        self,
        sessions: str | Path | Sequence[str | Path],
        *,
        config: str | Path | None = None,
        settings: Mapping[str, Any] | None = None,
        strategy: str | None = None,
        target: str | None = None,
        model: str | None = None,
        window: int | str | None = None,
        **options: Any,
    ) -> Replayed:
        """What the sessions did. `options` are those of `ReplayOptions`.

        Raises RecordingError and SettingsError for what cannot be read, naming file and line.
        """
        from context_chef.replay.asserting import replayed

        given = [sessions] if isinstance(sessions, (str, Path)) else list(sessions)
        return replayed(
            [self._folder / each for each in given],
            config=None if config is None else self._folder / config,
            settings=settings,
            strategy=strategy,
            target=target,
            model=model,
            window=window,
            options=options,
            known=self._known,
        )


@pytest.fixture(scope="session")
def _replays_known() -> dict[Any, Any]:  # pyright: ignore[reportUnusedFunction]  # pytest finds it by name
    """What was worked out already in this run."""
    return {}


@pytest.fixture
def replay(request: pytest.FixtureRequest, _replays_known: dict[Any, Any]) -> Replays:
    """Play recorded sessions under given settings, offline, and assert on what they did."""
    return Replays(request.path.parent, _replays_known)
