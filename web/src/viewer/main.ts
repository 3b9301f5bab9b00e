// The page of `lasthop serve` and of `lasthop emulate --web`: a list of runs, one or several of
// them side by side, the timeline of the air, and a running emulation.

import "uplot/dist/uPlot.min.css";
import "../common/theme.css";
import "./viewer.css";
import { byId, h } from "../common/dom";
import { short } from "../common/format";
import { remedyOf } from "../common/remedy";
import { table } from "../common/table";
import { themeButton } from "../common/theme";
import { Timeline } from "./air";
import { get, type RunDocument, type RunEntry, type RunList, type Series } from "./api";
import { LivePage } from "./live";
import { Details } from "./packet";
import { Plots, ownOf, type Shown } from "./plots";

/** Most runs side by side. */
const SIDES_MAX = 4;

/** The page of the runs that are chosen. */
class Runs {
  private readonly list: RunList;
  private readonly content = h("div", {});
  private readonly boxes = new Map<number, HTMLInputElement>();
  private plots: Plots | null = null;
  private timeline: Timeline | null = null;
  private asked = 0;

  constructor(list: RunList, nav: HTMLElement, main: HTMLElement) {
    this.list = list;
    main.append(this.content);
    const entries = list.runs.map((run) => this.entry(run));
    nav.append(h("h2", {}, "Runs"), h("ul", { class: "list" }, ...entries));
    if (list.is_cut) nav.append(h("p", { class: "muted" }, "The list does not have all runs."));
    nav.hidden = false;
    addEventListener("hashchange", () => this.read());
    const jump = (text: string, selector: string): HTMLElement =>
      h("button", { type: "button", class: "quiet", onclick: () => this.content.querySelector(selector)?.scrollIntoView() }, text);
    byId("tools").prepend(jump("Findings", ".findings"), jump("Over time", ".over-time"), jump("The air", ".air-section"));
    this.read();
  }

  private entry(run: RunEntry): HTMLElement {
    const id = `run-${run.id}`;
    const box = h("input", { type: "checkbox", id, disabled: run.run === null });
    box.addEventListener("change", () => this.toggled(run.id));
    this.boxes.set(run.id, box);
    const only = h("button", { type: "button", class: "only", disabled: run.run === null, onclick: () => this.go([run.id]) }, "only this");
    only.setAttribute("aria-label", `only this: ${run.name}`);
    const wrong = [run.error, ...run.notes].filter((text): text is string => text !== null && text !== "");
    const about = run.run === null ? null : h("p", { class: "muted" }, aboutRun(run));
    return h(
      "li",
      {},
      h("div", { class: "choose" }, box, h("label", { for: id }, nameOf(run, this.list)), only),
      about,
      ...wrong.map((text) => h("p", { class: "bad" }, text)),
    );
  }

  private chosen(): number[] {
    const text = new URLSearchParams(location.hash.slice(1)).get("runs");
    if (text === null && this.list.is_live) return [];
    if (text === null) {
      const first = this.list.runs.find((run) => run.run !== null);
      return first === undefined ? [] : [first.id];
    }
    const ids = text.split(",").filter((id) => id !== "").map(Number);
    return ids.filter((id) => this.list.runs[id]?.run !== null && this.list.runs[id] !== undefined).slice(0, SIDES_MAX);
  }

  private go(ids: number[]): void {
    location.hash = `runs=${ids.join(",")}`;
  }

  private toggled(id: number): void {
    const before = this.chosen().filter((it) => it !== id);
    const ids = this.boxes.get(id)?.checked ? [...before, id] : before;
    this.go(ids.slice(-SIDES_MAX));
  }

  private read(): void {
    const ids = this.chosen();
    this.boxes.forEach((box, id) => (box.checked = ids.includes(id)));
    void this.show(ids);
  }

  private async show(ids: number[]): Promise<void> {
    this.asked += 1;
    const asked = this.asked;
    this.say("loading");
    const runs = ids.flatMap((id) => this.list.runs[id] ?? []);
    const loaded = await Promise.all(runs.map(load));
    if (asked !== this.asked) return;
    this.plots?.destroy();
    this.timeline?.destroy();
    this.plots = this.timeline = null;
    const several = loaded.length > 1;
    if (!this.list.is_live) setTitle(runs[0] !== undefined && runs.length === 1 ? nameOf(runs[0], this.list) : `${runs.length} runs`);
    this.content.replaceChildren();
    if (loaded.length === 0) {
      this.content.append(h("p", { class: "muted" }, "Choose one run, or several to see them side by side."));
      this.say("");
      return;
    }
    this.content.append(this.findings(loaded, several));
    const links = linksTaken(loaded, several);
    if (links !== null) this.content.append(links);
    const withSeries = loaded.filter((it) => it.series !== null);
    const wrong = loaded.flatMap((it) => it.wrong.map((why) => h("p", { class: "bad" }, several ? `${it.run.name}: ${why}` : why)));
    if (wrong.length > 0) this.content.append(h("section", { "aria-label": "Missing data" }, ...wrong));
    const air = h("section", { class: "air-section", "aria-label": "The air" }, h("h2", {}, "The air"));
    if (withSeries.length > 0) {
      const plots = new Plots((range) => this.zoomed(range));
      this.plots = plots;
      this.content.append(h("section", { class: "over-time", "aria-label": "Over time" }, h("h2", {}, "Over time"), h("p", { class: "hint muted" }, "Drag to zoom, double click to see all; the timeline of the air follows."), plots.root));
      plots.update(
        withSeries.map((it): Shown => ({
          name: it.run.name,
          series: it.series ?? { at_s: [], flows: [], nodes: [], links: [], is_cut: false },
          marks: [],
          flows: { ...it.document?.document.programs, ...it.document?.document.flows },
          own: ownOf(it.document?.document.programs ?? {}),
        })),
      );
    }
    this.content.append(air);
    this.air(air, loaded);
    this.say("");
  }

  /** The state of a running emulation is said in the same place, and is worth more. */
  private say(text: string): void {
    if (!this.list.is_live) status(text, "");
  }

  private findings(loaded: Loaded[], several: boolean): HTMLElement {
    const columns = loaded.map(({ run, document }) => {
      const found = document?.findings ?? [];
      const list =
        found.length === 0
          ? h("p", {}, "Nothing that lasthop looks for.")
          : h("ol", {}, ...found.map((it) => h("li", {}, h("strong", {}, it.title), `. ${it.sentence}.`, ...remedyOf(it))));
      const report = h("a", { href: `run/${run.id}/report.html`, target: "_blank", rel: "noopener" }, `Report${several ? ` of ${run.name}` : ""}: distributions, tables, the scenario`);
      const warnings = (document?.document.warnings ?? []).map((text) => h("p", { class: "bad" }, `Warning: ${text}.`));
      return h("div", {}, several ? h("h3", {}, run.name) : null, h("p", { class: "muted" }, aboutRun(run)), ...warnings, list, h("p", {}, report));
    });
    return h("section", { class: several ? "findings several" : "findings", "aria-label": "Findings" }, h("h2", {}, "What is wrong, worst first"), h("div", { class: "columns" }, ...columns));
  }

  private air(section: HTMLElement, loaded: Loaded[]): void {
    const there = loaded.filter((it) => it.run.has_events);
    if (there.length === 0) {
      section.append(h("p", { class: "muted" }, "This run has no events.parquet. For several runs, simulate writes it with --events."));
      return;
    }
    const host = h("div", {});
    const open = (it: Loaded): void => {
      this.timeline?.destroy();
      const details = new Details(it.run.id);
      this.timeline = new Timeline(it.run.id, (it.run.run?.duration_s ?? 1) * 1e9, (chosen) => details.show(chosen));
      host.replaceChildren(this.timeline.root, details.root);
    };
    if (there.length > 1) {
      const select = h("select", { id: "air-run" }, ...there.map((it) => h("option", { value: it.run.id }, it.run.name)));
      select.addEventListener("change", () => {
        const it = there.find((one) => String(one.run.id) === select.value);
        if (it !== undefined) open(it);
      });
      section.append(h("p", { class: "choice" }, h("label", { for: "air-run" }, "of the run "), select));
    }
    section.append(host);
    const first = there[0];
    if (first !== undefined) open(first);
  }

  private zoomed(range: [number, number] | null): void {
    if (range === null) this.timeline?.show(0, Infinity);
    else this.timeline?.show(range[0] * 1e9, range[1] * 1e9);
  }
}

/** The links that packets took, of each run with devices of several links. */
function linksTaken(loaded: Loaded[], several: boolean): HTMLElement | null {
  const there = loaded.flatMap(({ run, document }) => (document === null || document.taken.rows.length === 0 ? [] : [{ run, taken: document.taken }]));
  const first = there[0];
  if (first === undefined) return null;
  const tables = there.map(({ run, taken }) => {
    return h("div", {}, several ? h("h3", {}, run.name) : null, table(`Flows by link of ${run.name}`, taken.heads, taken.rows, 2));
  });
  return h("section", { class: "links-taken", "aria-label": first.taken.title }, h("h2", {}, first.taken.title), h("p", { class: "muted" }, first.taken.meaning), ...tables);
}

interface Loaded {
  run: RunEntry;
  document: RunDocument | null;
  series: Series | null;
  wrong: string[];
}

async function load(run: RunEntry): Promise<Loaded> {
  const wrong: string[] = [...run.notes];
  const tried = async <T>(path: string): Promise<T | null> => {
    try {
      return await get<T>(path);
    } catch (error) {
      wrong.push(error instanceof Error ? error.message : String(error));
      return null;
    }
  };
  const [document, series] = await Promise.all([
    tried<RunDocument>(`run/${run.id}`),
    run.has_series ? tried<Series>(`run/${run.id}/series`) : null,
  ]);
  if (!run.has_series && !run.notes.some((note) => note.startsWith("series"))) wrong.push("series.parquet is missing, so there are no plots over time");
  return { run, document, series, wrong };
}

function aboutRun(run: RunEntry): string {
  const head = run.run;
  if (head === null) return "";
  const how = head.is_emulated ? "emulated" : "simulated";
  const set = head.set.length > 0 ? `; ${head.set.join(", ")}` : "";
  return `${head.scenario}, ${how}, ${short(Math.round(head.duration_s * 1000) / 1000)} s, seed ${head.seed}, run ${head.run}${set}`;
}

function setTitle(text: string): void {
  document.title = `${text} – lasthop`;
  byId("title").textContent = text;
}

/** The name of a run: its folder, below the one that is served. */
function nameOf(run: RunEntry, list: RunList): string {
  return run.name === "." ? (list.folder ?? "this folder") : run.name;
}

function status(text: string, kind: "good" | "bad" | ""): void {
  const element = byId("status");
  element.textContent = text;
  element.className = kind;
}

async function begin(): Promise<void> {
  byId("tools").append(themeButton());
  const main = byId("content");
  main.replaceChildren();
  try {
    const list = await get<RunList>("runs");
    if (list.is_live) {
      const page = new LivePage(status, setTitle);
      main.append(page.root);
    }
    if (list.runs.length > 0) new Runs(list, byId("runs"), main);
  } catch (error) {
    main.append(h("p", { class: "bad", role: "alert" }, error instanceof Error ? error.message : String(error)));
  }
}

addEventListener("DOMContentLoaded", () => void begin());
