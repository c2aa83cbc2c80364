// Light or dark: the system's choice unless the viewer made one.
import { signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";
const KEY = "lynq-theme";

const stored = (): Theme => {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
};

export const theme = signal<Theme>(stored());

export function applyTheme(): void {
  if (theme.value === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
}

export function setTheme(value: Theme): void {
  theme.value = value;
  applyTheme();
  try {
    localStorage.setItem(KEY, value);
  } catch {
    // A browser without storage keeps the choice until the tab is closed.
  }
}
