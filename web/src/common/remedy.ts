// The remedy of a finding: its arguments, and the numbers of its trial or the reason why there is
// no trial. Texts are those of reports (crates/report/src/page.rs).

import { h } from "./dom";

/** A quantity without a remedy and with it; null or absent if nothing arrived. */
export interface TrialQuantity {
  quantity: string;
  unit: string;
  before?: number | null;
  after?: number | null;
}

export interface Remedy {
  /** Arguments of `--set`. */
  remedy?: string[];
  trial?: { helps: boolean; quantities: TrialQuantity[] };
  /** A clause. */
  not_tried?: string;
  /** The remedy on real devices, a sentence. */
  device?: string;
}

/** The paragraphs below a finding; none without a remedy. */
export function remedyOf(finding: Remedy): HTMLElement[] {
  const below: HTMLElement[] = [];
  if (finding.remedy !== undefined && finding.remedy.length > 0) {
    const lead = finding.trial === undefined ? "Worth a try:" : finding.trial.helps ? "Tried, and it helps:" : "Tried, and it does not help:";
    const sets = finding.remedy.map((set) => h("code", {}, `--set ${quoted(set)}`));
    below.push(h("p", { class: "remedy" }, lead, ...sets.flatMap((set) => [" ", set])));
    if (finding.trial !== undefined) below.push(h("ul", { class: "trial" }, ...finding.trial.quantities.map(numbers)));
    else if (finding.not_tried !== undefined) below.push(h("p", { class: "muted" }, `Not tried, because ${finding.not_tried}.`));
  }
  if (finding.device !== undefined) below.push(h("p", { class: "muted" }, `On real devices: ${finding.device}.`));
  return below;
}

function numbers(it: TrialQuantity): HTMLElement {
  return h("li", {}, `${it.quantity} ${value(it.before)} → `, h("strong", {}, value(it.after)), ` ${it.unit}`);
}

/** A value with about three digits. */
function value(it: number | null | undefined): string {
  if (it === null || it === undefined) return "nothing";
  return it < 99.95 ? it.toFixed(1) : it.toFixed(0);
}

/** An argument as a shell reads it. */
function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
