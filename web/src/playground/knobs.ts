// Sliders and choices, made of what the scenario takes. A slider that is logarithmic moves by
// equal factors; its value is rounded to its step, and to two digits above ten.

import { h } from "../common/dom";
import type { ChoiceControl, Knob, RangeControl } from "./protocol";

const STEPS = 200;
/** Where all groups are open at first. */
const wide = matchMedia("(min-width: 46rem)");

/** The argument of `--set` for a knob's word or number. */
export function argument(knob: Knob, word: string): string {
  const { control } = knob;
  if (control.kind === "range" && control.line !== undefined) {
    const [x, y, alongX, alongY] = control.line;
    const at = (from: number, along: number): string => plain(from + Number(word) * along);
    return `${knob.path}=${knob.value.replace("$x", at(x, alongX)).replace("$y", at(y, alongY))}`;
  }
  return `${knob.path}=${knob.value.replaceAll("$", () => word)}`;
}

/** Without the noise of binary fractions. */
function plain(value: number): string {
  return String(Number(value.toFixed(6)));
}

export class Knobs {
  readonly root = h("div", { class: "knobs" });
  private readonly change: (set: string, isStructure: boolean) => void;
  private shape = "";
  private readonly shown = new Map<string, (knob: Knob) => void>();

  /** `change` is told of every change; `isStructure`: other knobs may follow from it. */
  constructor(change: (set: string, isStructure: boolean) => void) {
    this.change = change;
  }

  /** Shows these knobs. Those that are there already keep the focus. */
  show(knobs: Knob[]): void {
    const shape = knobs.map((knob) => `${knob.group} ${knob.path} ${knob.control.kind}`).join("\n");
    if (shape !== this.shape) {
      this.shape = shape;
      this.make(knobs);
    }
    for (const knob of knobs) this.shown.get(knob.path)?.(knob);
  }

  private make(knobs: Knob[]): void {
    const held = document.activeElement?.id;
    this.shown.clear();
    this.root.replaceChildren();
    const groups = new Map<string, Knob[]>();
    for (const knob of knobs) groups.set(knob.group, [...(groups.get(knob.group) ?? []), knob]);
    for (const [name, group] of groups) {
      const made = group.map((knob) => (knob.control.kind === "range" ? this.range(knob) : this.choice(knob)));
      const open = this.root.childElementCount === 0 || wide.matches;
      const inside = h("div", { role: "group", "aria-label": name }, ...made);
      this.root.append(h("details", { class: "group", open }, h("summary", {}, name), inside));
    }
    if (held !== undefined && held !== "") document.getElementById(held)?.focus();
  }

  private range(first: Knob): HTMLElement {
    const id = `knob-${first.path}`;
    const output = h("output", { for: id });
    const input = h("input", { type: "range", id, min: 0, max: STEPS, step: 1 });
    let knob = first;
    const tell = (value: number): void => {
      const { unit } = knob.control as RangeControl;
      const text = unit === "" ? shareOr(knob, value) : `${plain(value)} ${unit}`;
      output.textContent = text;
      input.setAttribute("aria-valuetext", text);
    };
    input.addEventListener("input", () => {
      const value = valueAt(knob.control as RangeControl, Number(input.value));
      tell(value);
      this.change(argument(knob, plain(value)), knob.path.endsWith(".count"));
    });
    this.shown.set(first.path, (other) => {
      knob = other;
      const control = knob.control as RangeControl;
      const whole = positions(control);
      input.max = String(whole);
      input.value = String(positionOf(control, control.now));
      tell(control.now);
    });
    return h("div", { class: "knob" }, h("label", { for: id }, first.label), output, input);
  }

  private choice(first: Knob): HTMLElement {
    const id = `knob-${first.path}`;
    const select = h("select", { id });
    let knob = first;
    select.addEventListener("change", () => {
      if (select.value !== "") this.change(argument(knob, select.value), true);
    });
    this.shown.set(first.path, (other) => {
      knob = other;
      const { options, now } = knob.control as ChoiceControl;
      const others = now === null ? [h("option", { value: "" }, "as in the text")] : [];
      select.replaceChildren(
        ...others,
        ...options.map(([value, label]) => h("option", { value, selected: value === now }, label)),
      );
    });
    return h("div", { class: "knob" }, h("label", { for: id }, first.label), select);
  }
}

/** Losses are shares, and read as per cent. */
function shareOr(knob: Knob, value: number): string {
  return knob.label.startsWith("loss") ? `${plain(100 * value)} %` : plain(value);
}

function positions({ min, max, step, logarithmic }: RangeControl): number {
  return logarithmic ? STEPS : Math.round((max - min) / step);
}

function valueAt(control: RangeControl, position: number): number {
  const { min, max, step, logarithmic } = control;
  if (!logarithmic) return min + position * step;
  const exact = min * (max / min) ** (position / STEPS);
  const digits = exact < 10 ? step : Math.max(step, 10 ** Math.floor(Math.log10(exact) - 1));
  return Math.min(max, Math.max(min, Math.round(exact / digits) * digits));
}

function positionOf(control: RangeControl, value: number): number {
  const { min, max, step, logarithmic } = control;
  const inside = Math.min(max, Math.max(min, value));
  if (!logarithmic) return Math.round((inside - min) / step);
  return Math.round((STEPS * Math.log(inside / min)) / Math.log(max / min));
}
