// Light and dark: as the system prefers, or as the reader chooses. The script stands in the head
// of a page, so that the first paint has the right colours. `theme.css` has the colours.

const KEY = "lasthop.theme";
const CHOICES = ["automatic", "light", "dark"] as const;
type Choice = (typeof CHOICES)[number];

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let choice: Choice = stored();

function stored(): Choice {
  try {
    const text = localStorage.getItem(KEY);
    return CHOICES.find((it) => it === text) ?? "automatic";
  } catch {
    return "automatic"; // A page without storage, such as one in a sandbox.
  }
}

function apply(): void {
  const dark = choice === "dark" || (choice === "automatic" && prefersDark.matches);
  document.documentElement.dataset["theme"] = dark ? "dark" : "light";
  for (const listener of listeners) listener();
}

apply();
prefersDark.addEventListener("change", apply);

/** Calls a function when the colours change; returns what ends that. */
export function onTheme(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A button that goes through the choices. */
export function themeButton(): HTMLButtonElement {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  const show = (): void => {
    button.textContent = `Theme: ${choice}`;
  };
  button.addEventListener("click", () => {
    choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length] ?? "automatic";
    try {
      localStorage.setItem(KEY, choice);
    } catch {
      // It holds for this page.
    }
    apply();
    show();
  });
  show();
  return button;
}

/** The colour of the page with this name, such as `s0` or `muted`, as it is now. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
