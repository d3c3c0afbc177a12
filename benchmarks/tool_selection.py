"""How often the right tools are among the first 5 and 10, over real tool lists and real queries.

Run it as `python benchmarks/tool_selection.py [DATA]`, with DATA the folder that holds `tools/`
(default: $CONTEXT_CHEF_DATA). It prints one Markdown table. Three ways of choosing are compared:

- `tag rule`: a tool is kept when its name, or a tag, occurs in the task as a plain substring; the
  lists have no tags, so the words of a tool's name are its tags. The first k in list order count.
- `substring`: tools ranked by how many words of the task (of three letters and more) occur
  anywhere in name or description as plain substrings.
- `select_tools`: what the library does, no embedder.

Recall is the share of the right tools among the first k, averaged over queries. A query's right
tools are those the data names; for the GitHub server they are written by hand below, one query in
a user's words each, before any ranking was looked at. Where two tools do the same, either counts.
Weights were chosen on BFCL's multi-turn conversations and half of the BFCL and MetaTool queries
(the even ones), where all sensible values came out within two points of each other.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from context_chef.ir.tools import ToolDefinition
from context_chef.selection.tool_selector import ToolIndex

Right = Sequence[frozenset[str]]
"""The tools that were needed; of each group any one will do."""


class Case(NamedTuple):
    name: str
    tools: list[ToolDefinition]
    queries: Sequence[tuple[str, Right]]


# fmt: off
GITHUB_QUERIES: dict[str, str] = {
    "Open a bug report that the login button does nothing": "create_issue issue_write",
    "What does ticket 482 say?": "issue_read",
    "Close ticket 482, it is fixed": "update_issue_state issue_write",
    "Tell the reporter of issue 12 that we are working on it": "add_issue_comment",
    "Put the labels bug and urgent on issue 77": "update_issue_labels issue_write",
    "Make Ann responsible for issue 9": "update_issue_assignees issue_write",
    "Has somebody reported the same problem as issue 31 before?": "find_duplicate search_issues",
    "Which issues block issue 40?": "issue_dependency_read",
    "Break issue 5 into a smaller issue below it": "add_sub_issue sub_issue_write",
    "Let Copilot take care of issue 18": (
        "assign_copilot_to_issue assign_copilot_to_issue_with_intent"
    ),
    "Show me all open issues of the repo": "list_issues search_issues",
    "Open a PR from feature/login into main": "create_pull_request",
    "Which files does pull request 210 change?": "pull_request_read",
    "Approve pull request 210": "create_pull_request_review pull_request_review_write",
    "Merge PR 210 with a squash": "merge_pull_request",
    "Ask Bob and Eve to look at my pull request": (
        "request_pull_request_reviewers update_pull_request"
    ),
    "PR 33 is behind main, bring it up to date": "update_pull_request_branch",
    "Turn my pull request into a draft": "update_pull_request_draft_state update_pull_request",
    "Have Copilot review the pull request": "request_copilot_review",
    "Find pull requests by octocat that were merged last month": "search_pull_requests",
    "That review conversation is settled, mark it resolved": "resolve_review_thread",
    "Make a branch called hotfix off main": "create_branch",
    "What branches are there?": "list_branches",
    "Show the README of the repository": "get_file_contents",
    "Who last touched line 40 of main.py?": "get_file_blame",
    "Fix the typo in docs/index.md and commit it": "create_or_update_file push_files",
    "Commit these five files at once": "push_files",
    "Remove the obsolete config.yml": "delete_file",
    "What changed in commit abc123?": "get_commit",
    "Show the latest commits on develop": "list_commits",
    "Find commits that mention a memory leak": "search_commits",
    "Where in the code is parse_config defined?": "search_code",
    "Show the directory structure of the repo": "get_repository_tree get_file_contents",
    "Fork this project to my account": "fork_repository",
    "Start a new private repository called sandbox": "create_repository",
    "Find popular Rust web frameworks": "search_repositories",
    "Who has access to this repository?": "list_repository_collaborators",
    "Give this repo a star": "star_repository",
    "What did I star?": "list_starred_repositories",
    "Did the CI run on main pass?": "actions_list actions_get",
    "Why did the build job fail? Show me its log": "get_job_logs",
    "Re-run the failed workflow": "actions_run_trigger",
    "What is the newest release?": "get_latest_release list_releases",
    "Show the release notes of v2.1.0": "get_release_by_tag",
    "Which tags exist?": "list_tags",
    "Are there vulnerable dependencies?": "list_dependabot_alerts",
    "Have any secrets leaked into the repo?": "list_secret_scanning_alerts",
    "Show the CodeQL findings": "list_code_scanning_alerts",
    "Look up advisory GHSA-xxxx-yyyy": "get_global_security_advisory",
    "Do I have unread notifications?": "list_notifications",
    "Mark everything in my inbox as read": "mark_all_notifications_read",
    "Stop notifying me about this repository": "manage_repository_notification_subscription",
    "Who am I logged in as?": "get_me",
    "Who is on the platform team?": "get_team_members",
    "Find the user who is called Linus Torvalds": "search_users",
    "What is being discussed in the forum of the repo?": "list_discussions",
    "Read the replies in discussion 14": "get_discussion_comments",
    "Save this snippet as a gist": "create_gist",
    "Rename the label bug to defect": "label_write",
    "Move the card to Done on our project board": "projects_write",
}
# fmt: on


def load_cases(data: Path) -> Iterable[Case]:
    def load(name: str) -> Any:
        return json.loads((data / "tools" / f"{name}.json").read_text(encoding="utf-8"))

    bfcl = load("bfcl-live-multiple")
    pool = [
        tool(entry["name"], entry.get("description"), entry["parameters"])
        for entry in bfcl["pool"].values()
    ]
    queries = [(said(query["messages"]), each(query["right"])) for query in bfcl["queries"]]
    yield Case("BFCL live-multiple", pool, queries)

    meta = load("metatool")
    plugins = [tool(name, words) for name, words in meta["tools"].items()]
    for part in ("single", "multi"):
        queries = [(query["query"], each(query["right"])) for query in meta[part]]
        yield Case(f"MetaTool {part}", plugins, queries)

    server = [
        tool(entry["name"], entry["description"], entry["inputSchema"])
        for entry in load("github-mcp-server")["tools"]
    ]
    wanted = [(query, [frozenset(names.split())]) for query, names in GITHUB_QUERIES.items()]
    yield Case("GitHub MCP server", server, wanted)

    asked = [*load("toolbench-G1")["queries"], *load("toolbench-G2")["queries"]]
    apis = {api_name(api): api_tool(api) for query in asked for api in query["api_list"]}
    queries = [
        (query["query"], each(f"{owner}/{name}" for owner, name in query["relevant APIs"]))
        for query in asked
    ]
    yield Case("ToolBench G1+G2", list(apis.values()), queries)


def tool(name: str, description: str | None, parameters: Any = None) -> ToolDefinition:
    return ToolDefinition(name=name, description=description or "", parameters=parameters)


def said(messages: Sequence[dict[str, str]]) -> str:
    return " ".join(message["content"] for message in messages if message["role"] == "user")


def each(names: Iterable[str]) -> Right:
    return [frozenset([name]) for name in dict.fromkeys(names)]


def api_name(api: dict[str, Any]) -> str:
    return f"{api['tool_name']}/{api['api_name']}"


def api_tool(api: dict[str, Any]) -> ToolDefinition:
    given = [*api["required_parameters"], *api["optional_parameters"]]
    properties = {p["name"]: {"description": str(p.get("description") or "")} for p in given}
    words = f"{api['category_name']}. {api['api_description'] or ''}"
    return tool(api_name(api), words, {"type": "object", "properties": properties})


Chooser = Callable[[str, int], list[str]]


def tag_rule(tools: Sequence[ToolDefinition]) -> Chooser:
    labels = [
        (entry.name, [entry.name.lower(), *re.findall(r"[^\W_]+", split_humps(entry.name))])
        for entry in tools
    ]

    def choose(task: str, k: int) -> list[str]:
        lowered = task.lower()
        kept = [name for name, tags in labels if any(tag in lowered for tag in tags)]
        return kept[:k]

    return choose


def split_humps(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name).lower()


def substring(tools: Sequence[ToolDefinition]) -> Chooser:
    texts = [f"{entry.name} {entry.description}".lower() for entry in tools]

    def choose(task: str, k: int) -> list[str]:
        asked = {word for word in re.findall(r"\w+", task.lower()) if len(word) > 2}
        counts = [sum(word in text for word in asked) for text in texts]
        order = sorted(range(len(tools)), key=lambda place: (-counts[place], place))
        return [tools[place].name for place in order[:k]]

    return choose


def ours(tools: Sequence[ToolDefinition]) -> Chooser:
    # The index rather than `select_tools()`, since BFCL's pool has several tools of one name.
    index = ToolIndex(tools)

    def choose(task: str, k: int) -> list[str]:
        scores = index.scores(task)
        order = sorted(range(len(tools)), key=lambda place: (-scores[place], place))
        return [tools[place].name for place in order[:k]]

    return choose


def recall(choose: Chooser, queries: Sequence[tuple[str, Right]], k: int) -> float:
    total = 0.0
    for task, right in queries:
        chosen = set(choose(task, k))
        total += sum(not chosen.isdisjoint(names) for names in right) / len(right)
    return total / len(queries)


def main() -> None:
    place = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("CONTEXT_CHEF_DATA")
    if not place:
        sys.exit(f"usage: {sys.argv[0]} DATA (or set CONTEXT_CHEF_DATA)")
    ways = {"tag rule": tag_rule, "substring": substring, "select_tools": ours}
    columns = [f"{way} @{k}" for way in ways for k in (5, 10)]
    print(f"| list | tools | queries | {' | '.join(columns)} | ms per query |")
    print("|---" * (len(columns) + 4) + "|")
    for case in load_cases(Path(place)):
        cells: list[str] = []
        spent = 0.0
        for make in ways.values():
            choose = make(case.tools)
            started = time.perf_counter()
            cells += [f"{recall(choose, case.queries, k):.3f}" for k in (5, 10)]
            spent = (time.perf_counter() - started) * 1000 / (2 * len(case.queries))
        sizes = f"{len(case.tools)} | {len(case.queries)}"
        print(f"| {case.name} | {sizes} | {' | '.join(cells)} | {spent:.2f} |")


if __name__ == "__main__":
    main()
