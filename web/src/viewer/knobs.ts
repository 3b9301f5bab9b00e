// The knobs of a running emulation: sliders, switches and choices with labels. A knob that is moved
// sets its value a moment later; what is refused is said at the knob. Those of other people's nodes
// are folded, a group each.

import { h } from "../common/dom";
import { short } from "../common/format";

export interface Knob {
  path: string;
  label: string;
  /** The node or wire that it is of. */
  group?: string;
  /** Whether that is the first station, an access point or a wire: others are folded. */
  first?: boolean;
  kind: "number" | "choice" | "switch";
  unit?: string;
  value: string | number | boolean;
  min?: number;
  max?: number;
  step?: number;
  choices?: (string | number)[];
}

/** How long a knob has to rest before its value is set, in ms. */
const REST_MS = 150;

export class Knobs {
  readonly root = h("div", { class: "knobs" });
  private readonly each = new Map<string, Control>();

  constructor(knobs: Knob[]) {
    const folds = new Map<string, HTMLElement>();
    for (const knob of knobs) {
      const control = new Control(knob);
      this.each.set(knob.path, control);
      this.place(knob, folds).append(control.root);
    }
    if (knobs.length === 0) this.root.append(h("p", { class: "muted" }, "This scenario has no keys that can change during a run."));
  }

  /** Where a knob goes: among the first ones, or in the fold of its group. */
  private place(knob: Knob, folds: Map<string, HTMLElement>): HTMLElement {
    if (knob.first !== false || knob.group === undefined) return this.root;
    let fold = folds.get(knob.group);
    if (fold === undefined) {
      fold = h("details", { class: "fold" }, h("summary", {}, knob.group));
      folds.set(knob.group, fold);
      this.root.append(fold);
    }
    return fold;
  }

  /** Shows what was changed, here or elsewhere. */
  changed(path: string, value: unknown): void {
    this.each.get(path)?.show(value);
  }

  /** Nothing can be changed any more. */
  disable(): void {
    this.each.forEach((control) => control.disable());
  }
}

class Control {
  readonly root: HTMLElement;
  private readonly knob: Knob;
  private readonly input: HTMLInputElement | HTMLSelectElement;
  private readonly output = h("output", {});
  private readonly error = h("p", { class: "bad", role: "alert" });
  private timer: number | null = null;
  private asked = 0;

  constructor(knob: Knob) {
    this.knob = knob;
    const id = `knob-${knob.path}`;
    this.error.id = `${id}-error`;
    this.output.setAttribute("for", id);
    if (knob.kind === "choice") {
      const options = (knob.choices ?? []).map((it) => h("option", { value: String(it) }, String(it)));
      this.input = h("select", { id }, ...options);
    } else if (knob.kind === "switch") {
      this.input = h("input", { id, type: "checkbox", role: "switch" });
    } else {
      this.input = h("input", { id, type: "range", min: knob.min ?? 0, max: knob.max ?? 100, step: knob.step ?? "any" });
    }
    this.input.setAttribute("aria-describedby", this.error.id);
    const label = h("label", { for: id, title: knob.path }, knob.label);
    const head = h("div", { class: "knob-head" }, label, knob.kind === "number" ? this.output : null);
    this.root = h("div", { class: `knob ${knob.kind}` }, head, this.input, this.error);
    this.show(knob.value);
    this.input.addEventListener(knob.kind === "number" ? "input" : "change", () => {
      this.tell();
      if (this.timer !== null) clearTimeout(this.timer);
      this.timer = window.setTimeout(() => void this.set(), REST_MS);
    });
  }

  show(value: unknown): void {
    // While the reader moves the knob, it is the reader's.
    if (this.timer !== null) return;
    if (this.input instanceof HTMLSelectElement) {
      this.input.value = String(value);
    } else if (this.knob.kind === "switch") {
      this.input.checked = value === true || value === "true" || value === "on";
    } else {
      const number = typeof value === "number" ? value : Number.parseFloat(String(value));
      if (Number.isFinite(number)) this.input.value = String(number);
    }
    this.tell();
  }

  disable(): void {
    this.input.disabled = true;
  }

  private value(): string {
    if (this.input instanceof HTMLInputElement && this.knob.kind === "switch") return String(this.input.checked);
    return this.input.value;
  }

  private tell(): void {
    if (this.knob.kind !== "number") return;
    const unit = this.knob.unit === undefined || this.knob.unit === "" ? "" : ` ${this.knob.unit}`;
    const text = `${short(Number(this.input.value)).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, "")}${unit}`;
    this.output.textContent = text;
    this.input.setAttribute("aria-valuetext", text);
  }

  private async set(): Promise<void> {
    this.asked += 1;
    const asked = this.asked;
    const unit = this.knob.kind === "number" ? (this.knob.unit ?? "") : "";
    const body = JSON.stringify({ set: [`${this.knob.path}=${this.value()}${unit}`] });
    let why = "";
    try {
      const response = await fetch("set", { method: "POST", headers: { "Content-Type": "application/json" }, body });
      if (!response.ok) {
        const told = (await response.json()) as { error?: string };
        why = told.error ?? `the server answers ${response.status}`;
      }
    } catch {
      why = "the emulation does not answer";
    }
    if (asked !== this.asked) return;
    this.timer = null;
    this.error.textContent = why;
    this.input.setAttribute("aria-invalid", String(why !== ""));
  }
}
