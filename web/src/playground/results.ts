// What a run was: key figures, findings in sentences, plots over time, distributions, and the
// summary as tables. Plots stay while their lines stay, so that zoom and hidden lines survive.

import { BANDS, bandOf } from "../common/causes";
import { Chart, dashOf, type ChartOptions, type Line, type Value } from "../common/chart";
import { h } from "../common/dom";
import { short } from "../common/format";
import { table } from "../common/table";
import type { Answer, Curve, Finding, Flow, RunDocument } from "./protocol";

/** Most lines of a plot: as many as there are colours. */
const LINES_MAX = 6;
/** Most points of a line, and of areas; neighbours are averaged. */
const POINTS_MAX = 400;
const AREA_POINTS_MAX = 120;
/** A gap between two readings is short if it is one part in so many of the run. */
const GAPS = 10;
const LINK = "time";

export class Results {
  readonly root = h("div", { class: "answers", hidden: true });
  private readonly apply: (sets: string[]) => void;
  /** For the page's bar, so that they are seen while a slider moves. */
  readonly figures = h("dl", { class: "figures", "aria-label": "Key figures" });
  private readonly findings = h("div", { class: "findings" });
  private readonly plots = h("div", { class: "plots" });
  private readonly tables = h("div", { class: "tables" });
  private readonly charts = new Map<string, { shape: string; chart: Chart }>();
  private readonly causesOf = h("select", { id: "causes-of" });
  private flow: string | null = null;
  private answer: Answer | null = null;

  /** `apply` is told which remedy the reader wants. */
  constructor(apply: (sets: string[]) => void) {
    this.apply = apply;
    this.causesOf.addEventListener("change", () => {
      this.flow = this.causesOf.value;
      this.causes();
    });
    const chooser = h("div", { class: "chooser" }, h("label", { for: "causes-of" }, "Delay of the flow "), this.causesOf);
    this.plots.append(h("div", { id: "plot-throughput" }), h("div", { id: "plot-rtt" }), h("div", { id: "plot-delay" }));
    this.plots.append(h("div", {}, chooser, h("div", { id: "plot-causes" })), h("div", { id: "plot-curve" }));
    this.plots.append(h("div", { id: "plot-queue" }), h("div", { id: "plot-airtime" }));
    this.root.append(
      h("h2", { class: "visually-hidden" }, "Results"),
      this.findings,
      this.plots,
      this.tables,
    );
  }

  show(answer: Answer): void {
    this.answer = answer;
    this.root.hidden = false;
    const document_ = JSON.parse(answer.document) as RunDocument;
    this.showFigures(document_);
    this.showFindings(answer.findings, document_.warnings ?? []);
    this.showPlots(answer);
    this.showTables(document_);
  }

  private showFigures(run: RunDocument): void {
    const flows = Object.values(run.flows);
    const carried = flows.filter((flow) => flow.kind !== "ping" && flow.goodput_mbps !== undefined);
    const goodput = carried.reduce((sum, flow) => sum + (flow.goodput_mbps ?? 0), 0);
    const slowest = Math.max(...flows.map((flow) => (flow.rtt_ms ?? flow.one_way_delay_ms)?.p99 ?? 0), 0);
    const air = Object.values(run.nodes).reduce((sum, node) => sum + node.airtime_fraction, 0);
    const figure = (name: string, value: string): HTMLElement =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value));
    this.figures.replaceChildren(
      figure("goodput", carried.length > 0 ? `${goodput.toPrecision(3)} Mb/s` : "–"),
      figure("99 % delay", slowest > 0 ? `${rounded(slowest)} ms` : "–"),
      figure("airtime", `${(100 * air).toFixed(0)} %`),
    );
  }

  private showFindings(findings: Finding[], warnings: string[]): void {
    const items = findings.map((finding) => {
      const item = h("li", {}, h("strong", {}, finding.title), `: ${finding.sentence}.`);
      if (finding.remedy.length > 0) {
        const button = h("button", { type: "button" }, `Try ${finding.remedy.join(" ")}`);
        button.addEventListener("click", () => this.apply(finding.remedy));
        item.append(" ", button);
      }
      return item;
    });
    const head = h("h3", {}, findings.length > 0 ? "What is wrong, and why" : "Nothing is wrong with this run");
    const list = items.length > 0 ? h("ol", {}, ...items) : null;
    const notes = warnings.map((text) => h("p", { class: "muted" }, `Note: ${text}`));
    this.findings.replaceChildren(head, ...(list === null ? [] : [list]), ...notes);
  }

  private showPlots(answer: Answer): void {
    const x = thinned(answer.at_s);
    const most = (of: (flow: Flow) => Value[]): Flow[] => {
      const sums = answer.flows.map((flow) => ({ flow, sum: of(flow).reduce<number>((a, b) => a + (b ?? 0), 0) }));
      const sorted = sums.filter(({ sum }) => sum > 0).sort((a, b) => b.sum - a.sum);
      const kept = new Set(sorted.slice(0, LINES_MAX).map(({ flow }) => flow));
      return answer.flows.filter((flow) => kept.has(flow));
    };
    const all = answer.flows.length;
    const lines = (id: string, title: string, unit: string, of: (flow: Flow) => Value[]): void => {
      const flows = most(of);
      const note = all > LINES_MAX && flows.length === LINES_MAX ? `the ${LINES_MAX} of ${all} flows with most` : "";
      const options = { title, unit, note, link: LINK, lines: this.looks(flows) };
      this.plot(id, options, x, flows.map((flow) => joined(thinned(of(flow)))));
    };
    lines("throughput", "Throughput", "Mb/s", (flow) => flow.throughput_mbps);
    lines("rtt", "Round-trip time", "ms", (flow) => flow.rtt_ms);
    // Of flows without round trips.
    const hasRtt = new Set(answer.flows.filter((flow) => flow.rtt_ms.some((rtt) => rtt !== null)));
    lines("delay", "One-way delay", "ms", (flow) => (hasRtt.has(flow) ? [] : flow.delay_ms));
    this.chooseCauses(answer);
    this.causes();
    this.curves(answer);
    this.nodes(answer, x);
  }

  private looks(flows: Flow[]): Line[] {
    return looks(flows, this.answer?.flows ?? []);
  }

  private chooseCauses(answer: Answer): void {
    const names = answer.flows.map((flow) => flow.name);
    if (this.flow === null || !names.includes(this.flow)) {
      const felt = answer.flows.find((flow) => flow.kind === "ping") ?? answer.flows[0];
      this.flow = felt?.name ?? null;
    }
    const shown = [...this.causesOf.options].map((option) => option.value);
    if (shown.join("\n") !== names.join("\n")) {
      this.causesOf.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
    }
    if (this.flow !== null) this.causesOf.value = this.flow;
    this.causesOf.parentElement?.toggleAttribute("hidden", names.length < 2);
  }

  private causes(): void {
    const flow = this.answer?.flows.find((it) => it.name === this.flow);
    if (this.answer === null || flow === undefined) {
      this.remove("causes");
      return;
    }
    const columns = BANDS.map((band) =>
      joined(
        thinned((this.answer?.at_s ?? []).map((_, at) => bandOf(band, (key) => flow.parts_ms[key]?.[at])), AREA_POINTS_MAX),
      ),
    );
    const lines = BANDS.map(({ label, series }) => ({ label, series }));
    const options: ChartOptions = {
      title: "Where the delay goes",
      unit: "ms",
      note: `one way, ${flow.name}`,
      link: LINK,
      stacked: true,
      lines,
    };
    this.plot("causes", options, thinned(this.answer.at_s, AREA_POINTS_MAX), columns);
  }

  private curves(answer: Answer): void {
    const curve = (flow: Flow): Curve => (flow.rtt_curve.ms.length > 0 ? flow.rtt_curve : flow.delay_curve);
    const flows = answer.flows.filter((flow) => curve(flow).ms.length > 0);
    const shown = [...flows].sort((a, b) => last(curve(b).ms) - last(curve(a).ms)).slice(0, LINES_MAX);
    const kept = flows.filter((flow) => shown.includes(flow));
    // All curves on one axis of delays: between its points a distribution is a line.
    const x = [...new Set(kept.flatMap((flow) => curve(flow).ms))].sort((a, b) => a - b);
    const ys = kept.map((flow) => along(x, curve(flow)));
    const options: ChartOptions = {
      title: "How delays are distributed",
      unit: "%",
      note: "round trips where there are any, else one-way delays, after the warm-up",
      x: "delay, ms",
      top: 100,
      lines: this.looks(kept),
    };
    this.plot("curve", options, x, ys);
  }

  private nodes(answer: Answer, x: number[]): void {
    const sum = (values: Value[]): number => values.reduce<number>((a, b) => a + (b ?? 0), 0);
    const chosen = (of: (node: Answer["nodes"][number]) => Value[]): Answer["nodes"] => {
      const sorted = answer.nodes.filter((node) => sum(of(node)) > 0).sort((a, b) => sum(of(b)) - sum(of(a)));
      const kept = sorted.slice(0, LINES_MAX);
      return answer.nodes.filter((node) => kept.includes(node));
    };
    const note = answer.nodes.length > LINES_MAX ? `the ${LINES_MAX} of ${answer.nodes.length} nodes with most` : "";
    const queued = chosen((node) => node.queue_packets);
    this.plot(
      "queue",
      { title: "Queues", unit: "packets", note, link: LINK, lines: looks(queued, answer.nodes) },
      x,
      queued.map((node) => thinned(node.queue_packets)),
    );
    const sending = chosen((node) => node.airtime);
    this.plot(
      "airtime",
      { title: "Who held the air", unit: "% of the time", note, link: LINK, stacked: true, top: 100, lines: looks(sending, answer.nodes) },
      thinned(answer.at_s, AREA_POINTS_MAX),
      sending.map((node) => thinned(node.airtime.map((share) => 100 * share), AREA_POINTS_MAX)),
    );
  }

  /** Shows data in the plot with this id; another one if its lines are others. */
  private plot(id: string, options: ChartOptions, x: number[], ys: Value[][]): void {
    if (options.lines.length === 0) {
      this.remove(id);
      return;
    }
    const shape = JSON.stringify(options);
    let known = this.charts.get(id);
    if (known?.shape !== shape) {
      known?.chart.destroy();
      known = { shape, chart: new Chart(options) };
      this.charts.set(id, known);
      document.getElementById(`plot-${id}`)?.replaceChildren(known.chart.root);
    }
    known.chart.setData(x, ys);
  }

  private remove(id: string): void {
    this.charts.get(id)?.chart.destroy();
    this.charts.delete(id);
  }

  private showTables(run: RunDocument): void {
    const flows = Object.entries(run.flows).map(([name, flow]) => [
      name,
      flow.kind,
      `${flow.sender ?? ""} → ${flow.receiver ?? ""}`,
      short(flow.goodput_mbps),
      short(flow.one_way_delay_ms?.mean),
      short(flow.one_way_delay_ms?.p99),
      short(flow.rtt_ms?.p50),
      short(flow.rtt_ms?.p99),
      share(flow.packets_lost, flow.packets_sent),
    ]);
    const nodes = Object.entries(run.nodes).map(([name, node]) => [
      name,
      short(node.queue_packets?.mean),
      short(node.queue_packets?.max),
      String(node.queue_drops),
      `${(100 * node.airtime_fraction).toFixed(1)} %`,
    ]);
    const heads = ["flow", "kind", "way", "Mb/s", "delay, ms", "99 %", "RTT 50 %", "99 %", "lost"];
    const tables = [h("h3", {}, "Summary"), table("Flows", heads, flows, 3)];
    if (nodes.length > 0) {
      tables.push(table("Nodes with Wi-Fi", ["node", "queue mean", "queue max", "dropped", "airtime"], nodes, 1));
    }
    this.tables.replaceChildren(...tables);
  }
}

/** The looks of those that a plot shows, no two alike: if it can be, the same in all plots. */
function looks(shown: readonly { name: string }[], all: readonly { name: string }[]): Line[] {
  const taken = new Set<number>();
  return shown.map((it) => {
    let look = all.findIndex(({ name }) => name === it.name) % LINES_MAX;
    while (taken.has(look)) look = (look + 1) % LINES_MAX;
    taken.add(look);
    return { label: it.name, series: look, dash: dashOf(look) };
  });
}

function share(part: number, all: number): string {
  return all > 0 ? `${((100 * part) / all).toFixed(2)} %` : "";
}

/** With three digits, or to the unit. */
function rounded(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

function last(values: number[]): number {
  return values[values.length - 1] ?? 0;
}

/** A distribution in per cent at these delays; nothing before and after its points. */
function along(x: number[], { ms, share }: Curve): Value[] {
  let at = 0;
  return x.map((delay) => {
    while (at + 1 < ms.length && (ms[at + 1] ?? 0) <= delay) at += 1;
    const [from, to] = [ms[at], ms[at + 1]];
    if (from === undefined || delay < from) return null;
    if (to === undefined || to === from) return delay === from ? 100 * (share[at] ?? 0) : null;
    const part = (delay - from) / (to - from);
    return 100 * ((share[at] ?? 0) * (1 - part) + (share[at + 1] ?? 0) * part);
  });
}

/** With a straight line over short gaps: a flow that sends seldom has no reading in each interval. */
function joined(values: Value[]): Value[] {
  const gapMax = Math.max(1, Math.floor(values.length / GAPS));
  const filled = [...values];
  let before = -1;
  values.forEach((value, at) => {
    if (value === null) return;
    const from = before < 0 ? null : (values[before] ?? null);
    if (from !== null && at - before <= gapMax) {
      for (let inside = before + 1; inside < at; inside += 1) {
        filled[inside] = from + ((value - from) * (inside - before)) / (at - before);
      }
    }
    before = at;
  });
  return filled;
}

/** Means of neighbours, so that there are so many at most. */
function thinned(values: number[], most?: number): number[];
function thinned(values: Value[], most?: number): Value[];
function thinned(values: Value[], most = POINTS_MAX): Value[] {
  const each = Math.max(1, Math.ceil(values.length / most));
  if (each === 1) return values;
  const means: Value[] = [];
  for (let at = 0; at < values.length; at += each) {
    const there = values.slice(at, at + each).filter((value) => value !== null);
    means.push(there.length > 0 ? there.reduce((a, b) => a + b, 0) / there.length : null);
  }
  return means;
}
