// Tables, and those behind plots: made when they are opened.

import { h } from "./dom";

/** A table: its first `words` columns are text, the first cell of a row is its head. */
export function table(label: string, heads: string[], rows: string[][], words = 1): HTMLElement {
  const kind = (index: number): Record<string, string> => (index < words ? {} : { class: "number" });
  const head = heads.map((text, index) => h("th", { scope: "col", ...kind(index) }, text));
  const body = rows.map((row) =>
    h(
      "tr",
      {},
      ...row.map((text, index) =>
        index === 0 ? h("th", { scope: "row", ...kind(0) }, text) : h("td", kind(index), text),
      ),
    ),
  );
  return h(
    "div",
    { class: "scroll", role: "region", tabindex: 0, "aria-label": label },
    h("table", {}, h("thead", {}, h("tr", {}, ...head)), h("tbody", {}, ...body)),
  );
}

/** A table that is made when it is opened, and again by `refresh` while it is open. */
export class Behind {
  readonly root: HTMLDetailsElement;
  private readonly make: () => HTMLElement;

  constructor(summary: string, make: () => HTMLElement) {
    this.make = make;
    this.root = h("details", {}, h("summary", {}, summary));
    this.root.addEventListener("toggle", () => this.refresh());
  }

  refresh(): void {
    while (this.root.lastElementChild !== null && this.root.children.length > 1) {
      this.root.lastElementChild.remove();
    }
    if (this.root.open) this.root.append(this.make());
  }
}
