// Which dialog is open, and the keys that work on every page.
import { signal } from "@preact/signals";

export type DialogName = "search" | "help";
export const dialog = signal<DialogName | null>(null);

export const openDialog = (name: DialogName): void => {
  dialog.value = name;
};
export const closeDialog = (): void => {
  dialog.value = null;
};

const isEditable = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Move the focus among the links with `data-item`. */
function moveFocus(step: number): void {
  const items = [...document.querySelectorAll<HTMLElement>("#main [data-item]")].filter(
    (item) => item.offsetParent !== null,
  );
  const index = items.indexOf(document.activeElement as HTMLElement);
  const next = index < 0 ? (step > 0 ? 0 : items.length - 1) : index + step;
  items[Math.min(Math.max(next, 0), items.length - 1)]?.focus();
}

export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      openDialog("search");
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isEditable(event.target) || dialog.value) return;
    if (event.key === "/") {
      event.preventDefault();
      openDialog("search");
    } else if (event.key === "?") openDialog("help");
    else if (event.key === "j") moveFocus(1);
    else if (event.key === "k") moveFocus(-1);
  });
}
