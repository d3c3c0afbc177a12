"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const viewer = document.getElementById("viewer");
  const LANES = [
    ["folds", "left the window"], ["busts", "cache broke"],
    ["repairs", "mended"], ["faults", "refused"],
  ];
  const MOST_SPANS = 240;

  // Everything that a session says goes through here: text is only ever set as text.
  function make(tag, attributes, ...children) {
    const one = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (name === "style") one.style.cssText = value;
      else one.setAttribute(name, value === true ? "" : String(value));
    }
    one.append(...children.filter((child) => child !== null && child !== undefined));
    return one;
  }
  const number = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const counted = (value, what) => `${number(value)} ${what}${value === 1 ? "" : "s"}`;
  const percent = (share) =>
    share > 0 && share < 0.01 ? "<1%" : `${share < 1 ? Math.min(Math.round(share * 100), 99) : 100}%`;
  const money = (value) => {
    if (value >= 100) return "$" + number(value);
    if (value >= 0.1 || value === 0) return "$" + value.toFixed(2);
    return "$" + (value >= 0.001 ? value.toFixed(4) : value.toFixed(6));
  };
  function lasted(seconds) {
    const h = Math.floor(seconds / 3600), m = Math.floor((seconds % 3600) / 60);
    if (h) return `${h} h ${m} min in`;
    return m ? `${m} min ${seconds % 60} s in` : `${seconds % 60} s in`;
  }

  // The spans of request n, walked to from the nearest one that was asked for before.
  class Spans {
    constructor(moves) {
      this.moves = moves;
      this.kept = new Map([[0, []]]);
    }
    at(n) {
      let from = n;
      while (!this.kept.has(from)) from -= 1;
      let spans = this.kept.get(from);
      for (let at = from; at < n; at += 1) {
        const moves = this.moves[at], next = [];
        for (let i = 0; i < moves.length;) {
          const start = moves[i], count = moves[i + 1], fresh = moves[i + 2];
          for (let k = 0; k < count; k += 1) next.push(spans[start + k]);
          for (let k = 0; k < fresh; k += 1) next.push(moves[i + 3 + k]);
          i += 3 + fresh;
        }
        spans = next;
        if ((at + 1) % 64 === 0) this.kept.set(at + 1, spans);
      }
      if (this.kept.size > 64) this.kept = new Map([[0, []]]);
      this.kept.set(n, spans);
      return spans;
    }
  }

  function happened(run, n, lane) {
    const events = run.events[n];
    if (events && events[lane]) return true;
    return lane === "faults" && run.limit !== null && run.tokens[n - 1] > run.limit;
  }
  const input = (run, n) => run.read[n - 1] + run.written[n - 1] + run.uncached[n - 1];
  const hit = (run, n) => (input(run, n) ? run.read[n - 1] / input(run, n) : 0);
  const cost = (run, n) => (run.priced ? money(run.cost[n - 1]) : "cost not known");

  // One bar for a request: its spans in order, as wide as they are long.
  function strip(session, run, n) {
    const spans = run.spans.at(n), runs = [];
    for (const span of spans) {
      const [kind, , , tokens] = session.texts[span];
      const last = runs[runs.length - 1];
      if (last && last[0] === kind) last[1] += tokens;
      else runs.push([kind, tokens]);
    }
    const total = run.tokens[n - 1] || 1;
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${total} 1`);
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    let x = 0;
    const paths = new Map();
    for (const [kind, tokens] of runs) {
      paths.set(kind, (paths.get(kind) || "") + `M${x} 0h${tokens}v1h${-tokens}z`);
      x += tokens;
    }
    for (const [kind, d] of paths) {
      const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
      path.setAttribute("d", d);
      path.setAttribute("style", `fill:var(--${data.kinds[kind][0]})`);
      svg.append(path);
    }
    const share = hit(run, n);
    return make("div", { class: "strip" }, svg,
      share < 0.002 ? null : make("div", { class: "from-cache", style: `width:${(share * 100).toFixed(2)}%` },
        share > 0.18 ? make("span", {}, "from the cache") : null));
  }

  function chips(run, n) {
    return LANES.filter(([lane]) => happened(run, n, lane)).map(([lane, label]) =>
      make("span", { class: "chip" }, make("i", { class: `key mark-${lane}` }), label));
  }

  class Session {
    constructor(at, section) {
      this.at = at;
      this.data = data.sessions[at];
      this.section = section;
      this.runs = this.data.runs;
      this.runs.forEach((run, r) => {
        run.spans = new Spans(run.moves);
        run.count = run.tokens.length;
        run.id = `s${at}r${r}`;
        run.figure = document.getElementById(`${run.id}-figure`);
        run.now = document.querySelector(`#${run.id} .now`);
      });
      this.count = Math.max(0, ...this.runs.map((run) => run.count));
      if (!this.count) return;
      this.n = this.count;
      this.prepare();
      this.go(this.first());
    }

    first() {
      for (let n = 1; n <= this.count; n += 1) {
        if (this.runs.some((run) => n <= run.count && happened(run, n, "folds"))) return n;
      }
      return this.count;
    }

    prepare() {
      const steps = this.section.querySelector(".steps");
      steps.hidden = false;
      this.slider = steps.querySelector("input");
      this.where = steps.querySelector("output");
      this.slider.addEventListener("input", () => this.go(Number(this.slider.value)));
      steps.querySelector(".back").addEventListener("click", () => this.go(this.n - 1));
      steps.querySelector(".forth").addEventListener("click", () => this.go(this.n + 1));
      for (const jump of steps.querySelectorAll(".jump")) {
        jump.addEventListener("click", () => this.jump(jump.dataset.lane, 1));
      }
      const scale = this.section.querySelector(".scale input");
      if (scale) {
        this.section.classList.toggle("same", scale.checked);
        scale.addEventListener("change", () => this.scale(scale.checked));
      }
      this.section.classList.add("live");
      this.section.addEventListener("keydown", (event) => this.key(event));
      for (const run of this.runs) if (run.figure) this.prepareFigure(run);
      for (const link of this.section.querySelectorAll("a.go, a.mark")) {
        link.addEventListener("click", (event) => {
          event.preventDefault();
          const figure = link.closest(".figure");
          const id = link.dataset.run || figure.dataset.run;
          const run = this.runs.find((one) => one.id === id);
          this.go(Number(link.dataset.n));
          open(this, run, link.dataset.lane, figure || link);
        });
      }
    }

    prepareFigure(run) {
      const figure = run.figure;
      figure.tabIndex = 0;
      figure.setAttribute("role", "slider");
      figure.setAttribute("aria-label", `window, cache and cost over time under ${run.name}`);
      figure.setAttribute("aria-valuemin", "1");
      figure.setAttribute("aria-valuemax", String(run.count));
      const plot = figure.querySelector("svg");
      const at = (event) => {
        const box = plot.getBoundingClientRect();
        const share = (event.clientX - box.left) / box.width;
        return Math.min(Math.max(Math.floor(share * run.count) + 1, 1), run.count);
      };
      let down = false;
      figure.addEventListener("pointerdown", (event) => {
        if (event.target.closest("a") || event.button !== 0) return;
        down = true;
        this.go(at(event));
      });
      figure.addEventListener("pointermove", (event) => {
        if (down && event.buttons === 1) this.go(at(event));
        else down = false;
      });
      figure.addEventListener("dblclick", () => open(this, run, null, figure));
      run.now.hidden = false;
    }

    scale(same) {
      this.section.classList.toggle("same", same);
      for (const svg of this.section.querySelectorAll(".plot svg")) {
        svg.setAttribute("viewBox", same ? svg.dataset.same : svg.dataset.own);
      }
    }

    jump(lane, step) {
      for (let n = this.n + step; n >= 1 && n <= this.count; n += step) {
        if (this.runs.some((run) => n <= run.count && happened(run, n, lane))) return this.go(n);
      }
      return undefined;
    }

    key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = event.target;
      if (target === this.slider && event.key !== "Enter" && event.key.length > 1) return;
      const figure = target.closest(".figure");
      if (!figure && target !== this.slider && !target.closest(".steps, .now")) return;
      if (!this.step(event)) {
        if (event.key !== "Enter" || target.closest("a, button")) return;
        const run = figure ? this.runs.find((one) => one.figure === figure) : this.runs[0];
        open(this, run, null, target);
      }
      event.preventDefault();
    }

    step(event) {
      switch (event.key) {
        case "ArrowLeft": case "ArrowDown": this.go(this.n - 1); return true;
        case "ArrowRight": case "ArrowUp": this.go(this.n + 1); return true;
        case "PageDown": this.go(this.n + 10); return true;
        case "PageUp": this.go(this.n - 10); return true;
        case "Home": this.go(1); return true;
        case "End": this.go(this.count); return true;
        case "f": this.jump("folds", 1); return true;
        case "F": this.jump("folds", -1); return true;
        case "b": this.jump("busts", 1); return true;
        case "B": this.jump("busts", -1); return true;
        default: return false;
      }
    }

    go(n) {
      this.n = Math.min(Math.max(n, 1), this.count);
      this.slider.value = String(this.n);
      const told = this.runs.find((run) => this.n <= run.count);
      const said = `request ${number(this.n)} of ${number(this.count)}, ` +
        lasted(told.at[this.n - 1]);
      this.where.textContent = said;
      this.slider.setAttribute("aria-valuetext", said);
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        for (const run of this.runs) if (run.figure) this.show(run);
      });
    }

    show(run) {
      const n = Math.min(this.n, run.count);
      const cursor = run.figure.querySelector(".cursor");
      cursor.hidden = false;
      cursor.style.setProperty("--at", String((n - 0.5) / run.count));
      run.figure.setAttribute("aria-valuenow", String(n));
      run.figure.setAttribute("aria-valuetext", `request ${n}: ${number(run.tokens[n - 1])} tokens, ` +
        `${percent(hit(run, n))} from the cache, ${cost(run, n)}` +
        chips(run, n).map((chip) => ", " + chip.textContent).join(""));
      const button = make("button", { type: "button", class: "open" }, "read the request");
      button.addEventListener("click", () => open(this, run, null, run.figure));
      const ended = this.n > run.count ? " (the last one)" : "";
      run.now.replaceChildren(
        make("p", {}, make("b", {}, `request ${number(n)}${ended}`),
          make("span", {}, `${number(run.tokens[n - 1])} tokens`),
          make("span", {}, `${percent(hit(run, n))} from the cache`),
          make("span", {}, cost(run, n)), ...chips(run, n), button),
        strip(this.data, run, n));
    }
  }

  // ---- the sheet that shows one request ------------------------------------------------------

  let shownSession = null, shownRun = null, shownN = 1, back = null;

  function open(session, run, lane, from) {
    shownSession = session;
    back = from;
    const select = viewer.querySelector("select");
    select.replaceChildren(...session.runs.filter((one) => one.count).map((one) =>
      make("option", { value: one.id, selected: one === run }, one.name)));
    viewer.querySelector(".which").hidden = session.runs.length < 2;
    fill(run, Math.min(session.n, run.count), lane);
    if (!viewer.open) viewer.showModal();
    const first = lane && viewer.querySelector(`.event.${lane} summary`);
    (first || viewer.querySelector(".close")).focus();
    if (first) first.scrollIntoView({ block: "nearest" });
  }

  function fill(run, n, lane) {
    shownRun = run;
    shownN = n;
    const session = shownSession.data;
    viewer.querySelector("h2").textContent = `Request ${number(n)}, ${run.name}`;
    viewer.querySelector(".title p").textContent =
      `${number(run.tokens[n - 1])} tokens, ${number(run.messages[n - 1])} messages said so far, ` +
      `${lasted(run.at[n - 1])} · ${number(run.size[n - 1])} bytes, ${run.digest[n - 1]}`;
    viewer.querySelector(".back").disabled = n <= 1;
    viewer.querySelector(".forth").disabled = n >= run.count;
    const inside = viewer.querySelector(".inside");
    inside.replaceChildren(
      bill(run, n), ...events(session, run, n, lane),
      make("h3", {}, "What is sent, in the order in which the model reads it"),
      strip(session, run, n), spans(session, run, n));
    inside.scrollTop = 0;
  }

  function bill(run, n) {
    const parts = [["read", "from the cache", run.read], ["written", "written to it", run.written],
      ["uncached", "billed in full", run.uncached]];
    const rows = parts.filter(([, , row]) => row[n - 1]).map(([key, label, row]) =>
      make("span", {}, make("i", { class: "key", style: `background:var(--${key})` }),
        `${number(row[n - 1])} ${label}`));
    return make("p", { class: "bill" }, ...rows,
      make("span", {}, `${number(run.output[n - 1])} answered`),
      make("span", {}, cost(run, n) +
        (run.summaries[n - 1] ? `, ${money(run.summaries[n - 1])} of it for a summary` : "")));
  }

  function block(lane, title, opened, ...children) {
    return make("details", { class: `event ${lane}`, open: opened },
      make("summary", {}, make("i", { class: `key mark-${lane}` }), title), ...children);
  }

  function events(session, run, n, lane) {
    const found = run.events[n] || {}, told = [];
    for (const fold of found.folds || []) {
      const where = fold.uris.length
        ? ["It stands in full at ", ...fold.uris.flatMap((uri, i) =>
          [i ? ", " : "", make("code", {}, uri)]), "; the model reads it with the context tool."]
        : ["It is kept nowhere: the model cannot reach it any more."];
      const facts = fold.facts.reduce((sum, count) => sum + count, 0);
      told.push(block("folds",
        `${counted(fold.left.length, "message")} of ${number(fold.tokens)} tokens left the window`,
        true,
        make("p", {}, `By ${fold.strategy}` +
          (fold.calls ? `, with ${counted(fold.calls, "call")} of the summarizer. ` : ". "), ...where),
        facts ? make("p", { class: "after" }, "Facts in it, right after: " +
          data.fates.map(([, label], i) => fold.facts[i] ? `${number(fold.facts[i])} ${label}` : null)
            .filter(Boolean).join(", ") + ".") : null,
        fold.summary === null ? null : make("h4", {}, "What stands for it"),
        fold.summary === null ? null : list(session, [fold.summary], { open: true }),
        make("h4", {}, "What left"), list(session, fold.left, {})));
    }
    for (const bust of found.busts || []) {
      told.push(block("busts",
        `The cache broke: ${number(bust.tokens)} tokens are paid for again`, lane === "busts",
        make("p", {}, `Cause: ${bust.cause}${bust.name ? ` ${bust.name}` : ""}. `, bust.message)));
    }
    for (const [name, label] of [["repairs", "Mended"], ["faults", "The provider would refuse it"]]) {
      for (const place of found[name] || []) {
        told.push(block(name, `${label}: ${place.message}`, lane === name,
          make("p", {}, "At ", make("code", {}, place.where), ", by the rule ",
            make("code", {}, place.rule), ".")));
      }
    }
    if (run.limit !== null && run.tokens[n - 1] > run.limit) {
      told.push(block("faults", "It is larger than the window", lane === "faults",
        make("p", {}, `${number(run.tokens[n - 1])} tokens, and the window takes ` +
          `${number(run.limit)}: the provider refuses it.`)));
    }
    return told.length ? [make("h3", {}, "What happened here"), ...told] : [];
  }

  function spans(session, run, n) {
    const now = run.spans.at(n);
    const before = n > 1 ? new Set(run.spans.at(n - 1)) : null;
    const cached = hit(run, n) * run.tokens[n - 1];
    return list(session, now, { cached, before, skip: true });
  }

  function list(session, spans, how) {
    const out = make("ol", { class: "spans" });
    let sum = 0, passed = how.cached === undefined || how.cached < 1;
    const rows = [];
    for (const at of spans) {
      const span = session.texts[at];
      const inside = how.cached !== undefined && sum + span[3] / 2 <= how.cached;
      if (!passed && !inside) {
        passed = true;
        rows.push(() => make("li", { class: "edge" },
          `above: about ${number(how.cached)} tokens from the cache · below: new to it`));
      }
      const fresh = how.before && !how.before.has(at);
      rows.push(() => row(span, inside, fresh, how.open));
      sum += span[3];
    }
    const put = (from, to) => {
      const part = document.createDocumentFragment();
      for (let i = from; i < to; i += 1) part.append(rows[i]());
      return part;
    };
    if (rows.length <= MOST_SPANS) {
      out.append(put(0, rows.length));
      return out;
    }
    const head = 40, tail = rows.length - (MOST_SPANS - head);
    const button = make("button", { type: "button" }, `show ${number(tail - head)} more in between`);
    const gap = make("li", { class: "gap" }, button);
    button.addEventListener("click", () => gap.replaceWith(put(head, tail)));
    out.append(put(0, head), gap, put(tail, rows.length));
    return out;
  }

  function row(span, inside, fresh, opened) {
    const [kind, label, role, tokens, text, cut, rest] = span;
    const badges = [inside ? "cached" : null, fresh ? "new" : null].filter(Boolean);
    const body = make("pre", { dir: "auto" }, text);
    if (cut) {
      body.append(make("span", { class: "cut" }, ` … ${number(cut)} characters are cut here … `), rest);
    }
    const line = text.trimStart().slice(0, 160).replace(/\s+/g, " ");
    const one = make("details", { open: opened },
      make("summary", {},
        make("b", {}, label),
        role && role !== label && role !== "tool" && role !== "system"
          ? make("span", { class: "soft" }, `sent as ${role}`) : null,
        make("span", { class: "line", dir: "auto" }, line),
        ...badges.map((badge) => make("span", { class: `badge ${badge}` }, badge)),
        make("span", { class: "n" }, number(tokens))), body);
    return make("li", { class: inside ? "in-cache" : "", style: `--kind:var(--${data.kinds[kind][0]})` },
      one);
  }

  function turn(step) {
    shownSession.go(shownN + step);
    fill(shownRun, Math.min(shownSession.n, shownRun.count), null);
  }
  viewer.querySelector(".close").addEventListener("click", () => viewer.close());
  viewer.querySelector(".back").addEventListener("click", () => turn(-1));
  viewer.querySelector(".forth").addEventListener("click", () => turn(1));
  viewer.querySelector("select").addEventListener("change", (event) => {
    const run = shownSession.runs.find((one) => one.id === event.target.value);
    fill(run, Math.min(shownSession.n, run.count), null);
  });
  viewer.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("select, pre")) return;
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      turn(event.key === "ArrowLeft" ? -1 : 1);
    }
  });
  viewer.addEventListener("click", (event) => {
    if (event.target === viewer) viewer.close();
  });
  viewer.addEventListener("close", () => {
    if (back && back.isConnected) back.focus();
  });

  for (const section of document.querySelectorAll("section.session")) {
    new Session(Number(section.dataset.session), section);
  }
  for (const one of document.querySelectorAll(".js")) if (!one.closest(".now")) one.hidden = false;
  document.documentElement.classList.add("scripted");
})();
