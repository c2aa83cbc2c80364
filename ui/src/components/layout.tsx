// The frame of every page: navigation, namespace, search, live indicator, theme, viewer.
import type { ComponentChildren, TargetedEvent } from "preact";
import { useEffect, useState } from "preact/hooks";
import { logout } from "../api";
import type { SessionView } from "../api-types";
import { openDialog } from "../dialogs";
import { address, namespace, setQuery } from "../router";
import { session } from "../session";
import { streamState } from "../stream";
import { setTheme, theme } from "../theme";

const PAGES = [
  { path: "/", label: "Problems", icon: "M8 1.8 14.8 13.6H1.2zM8 6v3.6M8 11.4v.6" },
  { path: "/fleet", label: "Fleet", icon: "M2 2.5h5v5H2zM9 2.5h5v5H9zM2 9.5h5v4H2zM9 9.5h5v4H9z" },
  { path: "/nodes", label: "Nodes", icon: "M2 3.5h12M2 8h12M2 12.5h12" },
  {
    path: "/topology",
    label: "Topology",
    icon: "M8 4.5v3M4 11V7.5h8V11M6 1.5h4v3H6zM2 11h4v3H2zM10 11h4v3h-4z",
  },
] as const;

export function Icon({ path }: { path: string }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={path} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

function Navigation() {
  const here = address.value.path;
  return (
    <nav class="nav" aria-label="Pages">
      <ul>
        {PAGES.map((page) => (
          <li key={page.path}>
            <a href={page.path} aria-current={here === page.path ? "page" : undefined}>
              <Icon path={page.icon} />
              <span>{page.label}</span>
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function NamespaceChooser({ viewer }: { viewer: SessionView }) {
  const known = viewer.namespaces.includes(namespace.value) || !namespace.value;
  return (
    <label class="chooser">
      <span class="visually-hidden">Namespace</span>
      <select
        value={namespace.value}
        onChange={(event: TargetedEvent<HTMLSelectElement>) => setQuery({ namespace: event.currentTarget.value })}
      >
        <option value="">All namespaces</option>
        {!known && <option value={namespace.value}>{namespace.value}</option>}
        {viewer.namespaces.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  );
}

const LIVE = {
  connecting: { word: "Connecting", title: "The stream of changes is being opened." },
  live: { word: "Live", title: "Changes appear by themselves." },
  offline: { word: "Reconnecting", title: "The stream of changes is lost; it is opened again by itself." },
} as const;

function LiveIndicator() {
  const { word, title } = LIVE[streamState.value];
  return (
    <span class={`live live-${streamState.value}`} role="status" title={title}>
      <span class="live-dot" aria-hidden="true" />
      <span class="live-word">{word}</span>
    </span>
  );
}

const THEMES = {
  system: { next: "light", icon: "M2 3h12v8H2zM6 14h4M8 11v3", word: "system" },
  light: {
    next: "dark",
    icon: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1",
    word: "light",
  },
  dark: { next: "system", icon: "M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z", word: "dark" },
} as const;

function ThemeSwitch() {
  const { next, icon, word } = THEMES[theme.value];
  return (
    <button type="button" class="icon-button" onClick={() => setTheme(next)} aria-label={`Theme: ${word}. Switch to ${next}.`} title={`Theme: ${word}`}>
      <Icon path={icon} />
    </button>
  );
}

const PATIENCE = 3_000;

/** Says that the page is old, if the connection is lost for longer than a restart takes. */
function Offline() {
  const isOffline = streamState.value === "offline";
  const [since, setSince] = useState("");
  useEffect(() => {
    if (!isOffline) return undefined;
    const lost = new Date().toLocaleTimeString("en-GB");
    const timer = setTimeout(() => setSince(lost), PATIENCE);
    return () => {
      clearTimeout(timer);
      setSince("");
    };
  }, [isOffline]);
  if (!since) return null;
  return (
    <p class="notice notice-warn" role="alert">
      The dashboard server has not answered since {since}: it was stopped, or the connection is lost. The page shows the state of that
      time, and tries again by itself.
    </p>
  );
}

const MODES = {
  Token: "Signed in with a token",
  Proxy: "Signed in by the proxy",
  Kubeconfig: "Rights of the kubeconfig",
} as const;

export function Viewer({ viewer }: { viewer: SessionView }) {
  const leave = async (): Promise<void> => {
    await logout().catch(() => undefined);
    session.value = { state: "login" };
  };
  return (
    <div class="viewer">
      {viewer.context && (
        <p class="cut viewer-context" title={viewer.context}>
          {viewer.context}
        </p>
      )}
      <p class="cut" title={viewer.user}>
        {viewer.user}
      </p>
      <p class="muted">{MODES[viewer.mode]}</p>
      {viewer.mode === "Token" && (
        <button type="button" class="link" onClick={() => void leave()}>
          Sign out
        </button>
      )}
      {viewer.version && <p class="muted">Lynq {viewer.version}</p>}
    </div>
  );
}

export function Layout({ viewer, children }: { viewer: SessionView; children: ComponentChildren }) {
  return (
    <div class="layout">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById("main")?.focus(); }}>
        Skip to the content
      </a>
      <aside class="side">
        <a class="brand" href="/" aria-label="Lynq: problems">
          <img src="/icon.svg" width="24" height="24" alt="" />
          <span>Lynq</span>
        </a>
        <Navigation />
        <Viewer viewer={viewer} />
      </aside>
      <div class="column">
        <header class="top">
          <a class="brand brand-top" href="/" aria-label="Lynq: problems">
            <img src="/icon.svg" width="24" height="24" alt="" />
          </a>
          <NamespaceChooser viewer={viewer} />
          <button type="button" class="search-button" onClick={() => openDialog("search")} aria-label="Search" aria-keyshortcuts="Control+K /">
            <Icon path="M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5l3.5 3.5" />
            <span>Search tenants, objects, forms…</span>
            <kbd>Ctrl K</kbd>
          </button>
          <div class="top-end">
            <LiveIndicator />
            <ThemeSwitch />
            <button type="button" class="icon-button" onClick={() => openDialog("help")} aria-label="Help and keys" title="Help and keys (?)">
              <Icon path="M8 1.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM6.2 6.2a1.8 1.8 0 1 1 2.5 1.7c-.5.2-.7.6-.7 1.1M8 11.2v.1" />
            </button>
          </div>
        </header>
        <main id="main" tabIndex={-1}>
          <Offline />
          {children}
        </main>
      </div>
    </div>
  );
}
