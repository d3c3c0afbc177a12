// The TypeScript reference: the whole list each turn, as it is made to be fed. It estimates tokens
// (its built-in heuristic). Called `node with_typescript.mjs FOLDER HISTORY.json …`, FOLDER being
// where npm installed it; prints the same lines of JSON as session.py.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const NAME = "@context-chef/core";
const CASES = { turn: 2.0, cold: 2.0, full: 0.5 };
const RUNS = { cold: 5, turn: 15, full: 15 };
const PATIENCE = 4000; // milliseconds for the runs of one case, once there are three

const [folder, ...paths] = process.argv.slice(2);
const root = join(resolve(folder), "node_modules", NAME);
const { version } = createRequire(import.meta.url)(join(root, "package.json"));
const { ContextChef, estimateObject, reset } = await import(
  pathToFileURL(join(root, "dist", "index.mjs")).href
);
const say = (value) => process.stdout.write(JSON.stringify(value) + "\n");
const logger = { warn() {} };

function open(system, rows, room, bytes) {
  let history = rows;
  const chef = new ContextChef({
    logger,
    janitor: {
      contextWindow: room < 1 ? Math.floor(estimateObject(rows) * room) : 50_000_000,
      tokenizer: estimateObject,
      // It leaves replacing what was folded to the caller.
      onCompress(summary, count) {
        history = [summary, ...history.slice(count)];
      },
    },
    overflow: { strategy: reset() },
  }).setSystemPrompt([{ role: "system", content: system }]);
  return async (row) => {
    if (row) history.push(row);
    const payload = await chef.setHistory(history).compile({ target: "openai" });
    return bytes ? JSON.stringify(payload) : payload;
  };
}

async function timed(kind, given, bytes) {
  const room = CASES[kind];
  const more = structuredClone(given.more);
  let prepare = () => structuredClone(given.rows);
  let work = (rows) => open(given.system, rows, room, bytes)(null);
  if (kind !== "cold") {
    const step = open(given.system, structuredClone(given.rows), room, bytes);
    await step(null);
    prepare = () => more.shift();
    work = step;
  }
  const figures = [];
  const start = performance.now();
  while (figures.length < RUNS[kind]) {
    if (figures.length >= 3 && performance.now() - start > PATIENCE) break;
    const mine = prepare();
    const begun = performance.now();
    await work(mine);
    figures.push(performance.now() - begun);
  }
  figures.sort((a, b) => a - b);
  const last = figures.length - 1;
  const middle = figures.length >> 1;
  return {
    ms: figures.length % 2 ? figures[middle] : (figures[middle - 1] + figures[middle]) / 2,
    low: figures[Math.floor(last / 4)],
    high: figures[last - Math.floor(last / 4)],
    runs: figures.length,
  };
}

say({ package: NAME, version, node: process.version });
for (const kind of Object.keys(CASES)) {
  for (const path of paths) {
    const given = JSON.parse(readFileSync(path, "utf-8"));
    for (const bytes of kind === "turn" ? [false, true] : [false]) {
      const way = bytes ? "whole list, to bytes" : "whole list";
      const found = { way, case: kind, size: given.rows.length };
      try {
        Object.assign(found, await timed(kind, given, bytes));
      } catch (error) {
        found.reason = `${error.name}: ${error.message}`.slice(0, 200);
      }
      say(found);
    }
  }
}
