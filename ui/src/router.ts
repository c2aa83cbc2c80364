// The address of the page: its path and query as signals, and navigation by the history API.
import { computed, signal } from "@preact/signals";

export interface Address {
  readonly path: string;
  readonly query: URLSearchParams;
}

const read = (): Address => ({
  path: window.location.pathname,
  query: new URLSearchParams(window.location.search),
});

export const address = signal<Address>(read());

/** The namespace that the lists are limited to; empty: all. It stays in the address of every page. */
export const namespace = computed(() => address.value.query.get("namespace") ?? "");

/** Go to a page. The chosen namespace stays unless the target names one. */
export function navigate(target: string, options: { replace?: boolean } = {}): void {
  const url = new URL(target, window.location.origin);
  if (namespace.value && !url.searchParams.has("namespace")) {
    url.searchParams.set("namespace", namespace.value);
  }
  const text = url.pathname + url.search;
  const moved = url.pathname !== address.value.path;
  if (options.replace) history.replaceState(null, "", text);
  else history.pushState(null, "", text);
  address.value = read();
  if (moved) window.scrollTo(0, 0);
}

/** Change parameters of the query; an empty value removes the parameter. */
export function setQuery(changes: Readonly<Record<string, string>>, options = { replace: true }): void {
  const query = new URLSearchParams(address.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  const url = address.value.path + (text ? `?${text}` : "");
  if (options.replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  address.value = read();
}

export const tenantPath = (namespace: string, uid: string): string =>
  `/tenants/${encodeURIComponent(namespace)}/${encodeURIComponent(uid)}`;

/** The page of a hub, form or node. */
export function pathOf(item: {
  readonly kind: "Hub" | "Form" | "Node";
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}): string {
  if (item.kind === "Node") return tenantPath(item.namespace, item.uid);
  const page = item.kind === "Hub" ? "hubs" : "forms";
  return `/${page}/${encodeURIComponent(item.namespace)}/${encodeURIComponent(item.name)}`;
}

/** Follow clicks on links to pages without loading the document again. */
export function startRouter(): void {
  window.addEventListener("popstate", () => (address.value = read()));
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    const link = (event.target as Element).closest("a");
    const target = link?.getAttribute("href");
    if (!link || link.hasAttribute("target") || !target?.startsWith("/") || target.startsWith("//")) return;
    event.preventDefault();
    navigate(target);
  });
}
