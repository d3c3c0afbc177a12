"""Carrying out an eviction: entries go one by one, and everybody who asked is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from context_chef.bridge import MaybeAwaitable, settle
from context_chef.errors import AsyncRequiredError
from context_chef.persistence.eviction import (
    AccessIndex,
    AccessRecord,
    EvictionReason,
    EvictionResult,
    FailedEviction,
    eviction_result,
)

EvictionHook: TypeAlias = Callable[[AccessRecord, EvictionReason], MaybeAwaitable[object]]
HookErrorHook: TypeAlias = Callable[[AccessRecord, Exception], object]


async def evict(
    plan: Sequence[tuple[AccessRecord, EvictionReason]],
    index: AccessIndex,
    delete: Callable[[str], Awaitable[object]],
    *,
    on_evicted: EvictionHook | None,
    on_hook_error: HookErrorHook | None,
) -> EvictionResult:
    """Delete what the plan says, in its order; what cannot be deleted stays in the index."""
    evicted: list[tuple[AccessRecord, EvictionReason]] = []
    failed: list[FailedEviction] = []
    for record, reason in plan:
        if index.get(record.path) != record:
            continue  # used or rewritten since the plan was made
        try:
            await delete(record.path)
        except AsyncRequiredError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever a backend raises is reported
            failed.append(FailedEviction(entry=record, error=error))
            continue
        index.drop(record.path)
        evicted.append((record, reason))
        await _tell(record, reason, on_evicted, on_hook_error)
    return eviction_result(evicted, failed)


async def _tell(
    record: AccessRecord,
    reason: EvictionReason,
    hook: EvictionHook | None,
    on_error: HookErrorHook | None,
) -> None:
    if hook is None:
        return
    try:
        await settle(hook(record, reason))
    except Exception as error:  # noqa: BLE001 - a hook never stops a cleanup
        if on_error is not None:
            on_error(record, error)
