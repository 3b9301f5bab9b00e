// Plots of series over time: each quantity in a row, one plot for each run beside the others,
// with the same axes, cursor and zoom. The same rows show files and a running emulation.

import { Chart, dashOf, type Line, type Mark, type Value } from "../common/chart";
import { BANDS, CAUSES, bandOf } from "../common/causes";
import { h } from "../common/dom";
import { short } from "../common/format";
import { table } from "../common/table";
import type { FlowSummary, Series, SeriesEntry } from "./api";

/** The most lines of a plot: as many as there are colours. */
const LINES_MAX = 6;

/** What is shown of one run. */
export interface Shown {
  name: string;
  series: Series;
  marks: Mark[];
  /** Delays of the whole run, for series without causes. */
  flows: Record<string, FlowSummary>;
  /** The names of the reader's own flows, nodes and links, which are shown first. */
  own: ReadonlySet<string>;
}

interface Quantity {
  title: string;
  unit: string;
  of: "flows" | "nodes" | "links";
  /** Keys of series, of which the first that has values counts. */
  keys: string[];
  factor?: number;
  stacked?: boolean;
  /** The greatest value that there can be. */
  top?: number;
}

const BEFORE_CAUSES: Quantity[] = [
  { title: "Throughput", unit: "Mb/s", of: "flows", keys: ["throughput_mbps"] },
  { title: "Round-trip time", unit: "ms", of: "flows", keys: ["rtt_ms", "srtt_ms"] },
  { title: "One-way delay", unit: "ms", of: "flows", keys: ["one_way_delay_ms"] },
];

const AFTER_CAUSES: Quantity[] = [
  { title: "Queues", unit: "packets", of: "nodes", keys: ["queue_packets"] },
  { title: "Congestion windows", unit: "segments", of: "flows", keys: ["cwnd_packets"] },
  { title: "Airtime", unit: "% of the time", of: "nodes", keys: ["airtime_fraction"], factor: 100, stacked: true, top: 100 },
  { title: "Aggregates", unit: "MPDUs in a PPDU", of: "links", keys: ["mpdus_per_ppdu"] },
  { title: "PHY rates", unit: "Mb/s", of: "links", keys: ["data_rate_mbps"] },
  { title: "MPDUs that fail", unit: "%", of: "links", keys: ["mpdu_error_rate"], factor: 100 },
];

/** A line with its values. */
interface Drawn {
  label: string;
  values: Value[];
}

/** What a plot shows. */
interface Content {
  lines: Drawn[];
  stacked: boolean;
  note: string;
  top: number;
}

/** The plots of some runs. */
export class Plots {
  readonly root = h("div", { class: "plots" });
  private readonly rows = new Map<string, Row>();
  private readonly onZoom: ((range: [number, number] | null) => void) | undefined;
  private readonly choice = h("select", { id: "cause-flow" });
  private shown: Shown[] = [];

  constructor(onZoom?: (range: [number, number] | null) => void) {
    this.onZoom = onZoom;
    this.choice.addEventListener("change", () => this.update(this.shown));
  }

  /** Shows these runs; what there is already is only given the new values. */
  update(shown: Shown[]): void {
    this.shown = shown;
    this.root.classList.toggle("several", shown.length > 1);
    BEFORE_CAUSES.forEach((quantity) => this.quantity(quantity));
    this.causes();
    AFTER_CAUSES.forEach((quantity) => this.quantity(quantity));
  }

  destroy(): void {
    this.rows.forEach((row) => row.destroy());
    this.rows.clear();
  }

  private quantity(quantity: Quantity): void {
    const contents = this.shown.map((run) => content(run.series, quantity, run.own));
    const top = Math.max(quantity.top ?? 0, ...contents.map((it) => it.top));
    this.row(quantity.title, quantity.unit, contents, top);
  }

  /** Why packets took as long as they did, over time: of the flow that the reader chooses. */
  private causes(): void {
    const flows = [...new Set(this.shown.flatMap((run) => run.series.flows.filter(hasCauses).map((it) => it.name)))];
    if (flows.length === 0) {
      this.wholeCauses();
      return;
    }
    const before = this.choice.value;
    const known = [...this.choice.options].map((option) => option.value);
    if (known.join("\n") !== flows.join("\n")) {
      this.choice.replaceChildren(...flows.map((name) => h("option", { value: name }, name)));
      this.choice.value = flows.includes(before) ? before : slowest(this.shown, flows);
    }
    const flow = this.choice.value;
    const contents = this.shown.map((run): Content => {
      const entry = run.series.flows.find((it) => it.name === flow && hasCauses(it));
      if (entry === undefined) return { lines: [], stacked: true, note: "", top: 0 };
      const lines = BANDS.map((band) => ({
        label: band.label,
        values: run.series.at_s.map((_, at) => bandOf(band, (key) => valuesOf(entry, `${key}_ms`)?.[at])),
      }));
      const sums = run.series.at_s.map((_, at) => lines.reduce((sum, line) => sum + (line.values[at] ?? 0), 0));
      return { lines, stacked: true, note: "", top: Math.max(0, ...sums) };
    });
    const row = this.row("Causes of the delay", "ms", contents, Math.max(...contents.map((it) => it.top)));
    if (row !== null && this.choice.parentElement === null) {
      row.root.prepend(h("p", { class: "choice" }, h("label", { for: "cause-flow" }, "Flow "), this.choice));
    }
  }

  /** The same of the whole run, where series do not have it. */
  private wholeCauses(): void {
    const key = "causes of the whole run";
    if (this.rows.has(key)) return;
    const columns = this.shown.map((run) => wholeCauses(run));
    if (columns.every((column) => column === null)) return;
    const row = new Row(columns.map((column) => column ?? h("div", {}, h("p", { class: "muted" }, "No packet arrived."))));
    this.rows.set(key, row);
    this.root.append(row.root);
  }

  private row(title: string, unit: string, contents: Content[], top: number): Row | null {
    const signature = JSON.stringify(contents.map((it) => [it.stacked, it.lines.map((line) => line.label)]));
    let row = this.rows.get(title);
    if (contents.every((it) => it.lines.length === 0)) return null;
    if (row?.signature !== signature) {
      const charts = contents.map((it, index) => {
        const name = this.shown.length > 1 ? (this.shown[index]?.name ?? "") : "";
        if (it.lines.length === 0) return null;
        const note = [name, it.note].filter((text) => text !== "").join("; ");
        return new Chart({
          title,
          unit,
          lines: it.lines.map((line, at): Line => ({ label: line.label, series: at, dash: dashOf(at) })),
          stacked: it.stacked,
          link: "time",
          note,
          ...(this.onZoom === undefined ? {} : { onZoom: this.onZoom }),
        });
      });
      const next = Row.of(charts, title);
      next.signature = signature;
      if (row === undefined) this.root.append(next.root);
      else {
        const choice = row.root.querySelector(".choice");
        if (choice !== null) next.root.prepend(choice);
        row.root.replaceWith(next.root);
        row.destroy();
      }
      this.rows.set(title, next);
      row = next;
    }
    const made = row;
    contents.forEach((it, index) => {
      const chart = made.charts[index];
      const run = this.shown[index];
      if (chart === null || chart === undefined || run === undefined) return;
      chart.setTop(top);
      chart.setMarks(run.marks);
      chart.setData(run.series.at_s, it.lines.map((line) => line.values));
    });
    return row;
  }
}

/** A quantity of all runs. */
class Row {
  readonly root: HTMLElement;
  charts: (Chart | null)[] = [];
  signature = "";

  constructor(columns: HTMLElement[]) {
    this.root = h("section", { class: "row" }, h("div", { class: "columns" }, ...columns));
  }

  static of(charts: (Chart | null)[], title: string): Row {
    const none = (): HTMLElement => h("div", {}, h("h3", {}, title), h("p", { class: "muted" }, "This run has nothing to show."));
    const row = new Row(charts.map((chart) => chart?.root ?? none()));
    row.charts = charts;
    return row;
  }

  destroy(): void {
    this.charts.forEach((chart) => chart?.destroy());
    this.root.remove();
  }
}

function valuesOf(entry: SeriesEntry, key: string): Value[] | undefined {
  const values = entry[key];
  return Array.isArray(values) ? values : undefined;
}

function hasCauses(entry: SeriesEntry): boolean {
  return CAUSES.some((cause) => valuesOf(entry, `${cause.key}_ms`)?.some((value) => value !== null) ?? false);
}

function mean(values: Value[]): number {
  let sum = 0;
  for (const value of values) sum += value ?? 0;
  return values.length === 0 ? 0 : sum / values.length;
}

/** The flow with the greatest mean delay, of the reader's own if there are any: most likely what
 * the reader asks about. */
function slowest(shown: Shown[], all: string[]): string {
  const own = all.filter((name) => shown.some((run) => run.own.has(name)));
  const flows = own.length > 0 ? own : all;
  const delay = (name: string): number =>
    Math.max(...shown.map((run) => mean(valuesOf(run.series.flows.find((it) => it.name === name) ?? { name }, "one_way_delay_ms") ?? [])));
  return flows.reduce((best, name) => (delay(name) > delay(best) ? name : best), flows[0] ?? "");
}

/** The lines of a quantity: of many the reader's own, then the greatest. */
function content(series: Series, quantity: Quantity, own: ReadonlySet<string>): Content {
  const all: Drawn[] = [];
  for (const entry of series[quantity.of]) {
    const values = quantity.keys.map((key) => valuesOf(entry, key)).find((it) => it?.some((value) => value !== null));
    if (values === undefined) continue;
    const factor = quantity.factor ?? 1;
    const scaled = factor === 1 ? values : values.map((value) => (value === null ? null : value * factor));
    if (quantity.stacked && mean(scaled) === 0) continue;
    all.push({ label: entry.name, values: scaled });
  }
  let lines = all;
  let note = "";
  if (all.length > LINES_MAX) {
    const rank = (line: Drawn): number => ([line.label, ...line.label.split("->")].some((name) => own.has(name.trim())) ? 1 : 0);
    const greatest = [...all].sort((a, b) => rank(b) - rank(a) || mean(b.values) - mean(a.values));
    if (quantity.stacked) {
      const rest = greatest.slice(LINES_MAX - 1);
      const others = series.at_s.map((_, at) => rest.reduce((sum, line) => sum + (line.values[at] ?? 0), 0));
      lines = [...greatest.slice(0, LINES_MAX - 1), { label: `${rest.length} others`, values: others }];
    } else {
      lines = greatest.slice(0, LINES_MAX);
      note = all.some((line) => rank(line) > 0) ? `${LINES_MAX} of ${all.length}: your own, then the greatest` : `the ${LINES_MAX} greatest of ${all.length}`;
    }
  }
  let top = 0;
  series.at_s.forEach((_, at) => {
    let sum = 0;
    for (const line of lines) {
      const value = line.values[at] ?? 0;
      sum = quantity.stacked ? sum + value : Math.max(sum, value);
    }
    top = Math.max(top, sum);
  });
  return { lines, stacked: quantity.stacked ?? false, note, top };
}

/** What is the reader's own of an emulation: flows of programs, and the nodes where they begin and end. */
export function ownOf(programs: Record<string, FlowSummary>): ReadonlySet<string> {
  const ends = Object.values(programs).flatMap((flow) => [flow.sender, flow.receiver]);
  return new Set([...Object.keys(programs), ...ends.filter((end) => end !== undefined)]);
}

/** Bars of the parts of the delay of each flow, over the whole run. */
function wholeCauses(run: Shown): HTMLElement | null {
  const flows = Object.entries(run.flows).filter(([, flow]) => flow.delay_parts_ms !== undefined);
  if (flows.length === 0) return null;
  const total = (flow: FlowSummary): number =>
    BANDS.reduce((sum, band) => sum + (bandOf(band, (key) => flow.delay_parts_ms?.[key]) ?? 0), 0);
  const longest = Math.max(...flows.map(([, flow]) => total(flow)), 1e-9);
  const bars = flows.slice(0, 12).map(([name, flow]) => partsBar(name, (key) => flow.delay_parts_ms?.[key], longest));
  const rows = flows.map(([name, flow]) => [name, ...CAUSES.map((cause) => short(flow.delay_parts_ms?.[cause.key] ?? 0))]);
  return h(
    "figure",
    { class: "chart" },
    h("figcaption", {}, h("h3", {}, "Causes of the delay"), h("span", { class: "muted" }, `ms, of the whole run; the series do not have them over time`)),
    ...bars,
    h("details", {}, h("summary", {}, "Table"), table(`Causes of the delay, ms, ${run.name}`, ["flow", ...CAUSES.map((cause) => cause.key)], rows)),
  );
}

/** A bar of the parts of a delay, as long as its share of `longest`; parts in ms. */
export function partsBar(name: string, part: (key: string) => number | null | undefined, longest: number): HTMLElement {
  const bands = BANDS.map((band) => ({ band, value: bandOf(band, part) ?? 0 })).filter((it) => it.value > 0);
  const sum = bands.reduce((all, it) => all + it.value, 0);
  const told = bands.map((it) => `${it.band.label} ${short(it.value)} ms`).join(", ");
  const bar = h("div", { class: "parts", role: "img", "aria-label": `${name}: ${short(sum)} ms; ${told}` });
  for (const { band, value } of bands) {
    bar.append(h("span", { class: `part s${band.series}`, title: `${band.label} ${short(value)} ms`, style: `width:${(100 * value) / longest}%` }));
  }
  const keys = bands.map((it) =>
    h("li", {}, h("span", { class: `key s${it.band.series}`, "aria-hidden": "true" }), `${it.band.label} ${short(it.value)} ms`),
  );
  return h("div", { class: "bar-of" }, h("p", {}, name, " ", h("span", { class: "muted" }, `${short(sum)} ms`)), bar, h("ul", { class: "keys" }, ...keys));
}
