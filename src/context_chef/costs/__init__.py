"""The cache and cost model: what a session's requests read, write and cost, by provider rules."""

from __future__ import annotations

from context_chef.costs.bill import Bill, BilledRequest, Bust, BustCause, RequestKind, SentRequest
from context_chef.costs.prices import (
    PRICES_AS_OF,
    ModelPrices,
    Money,
    PriceSettings,
    PriceTable,
    money_for,
)
from context_chef.costs.prompt import Prompt, PromptBlock, PromptReader
from context_chef.costs.simulate import CacheModel, simulate
from context_chef.costs.usage import Usage, read_usage

__all__ = [
    "PRICES_AS_OF",
    "BilledRequest",
    "Bill",
    "Bust",
    "BustCause",
    "CacheModel",
    "ModelPrices",
    "Money",
    "PriceSettings",
    "PriceTable",
    "Prompt",
    "PromptBlock",
    "PromptReader",
    "RequestKind",
    "SentRequest",
    "Usage",
    "money_for",
    "read_usage",
    "simulate",
]
