// The parts that every page is made of.
import type { ComponentChildren, TargetedKeyboardEvent } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ApiError } from "../api";
import type { Data } from "../data";

// The first page leaves the focus at the beginning of the document, before the skip link.
let isFirstPage = true;

/** A page: its heading, which gets the focus after a navigation, and what is on it. */
export function Page(props: {
  title: string;
  heading?: ComponentChildren;
  subtitle?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${props.title} · Lynq`;
  }, [props.title]);
  useEffect(() => {
    const isFirst = isFirstPage;
    isFirstPage = false;
    if (!isFirst && (!document.activeElement || document.activeElement === document.body)) {
      heading.current?.focus({ preventScroll: true });
    }
  }, []);
  return (
    <>
      <header class="page-header">
        <div class="page-heading">
          <h1 ref={heading} tabIndex={-1}>
            {props.heading ?? props.title}
          </h1>
          {props.subtitle && <p class="muted">{props.subtitle}</p>}
        </div>
        {props.actions && <div class="page-actions">{props.actions}</div>}
      </header>
      {props.children}
    </>
  );
}

export function Panel(props: {
  title?: ComponentChildren;
  aside?: ComponentChildren;
  flush?: boolean;
  class?: string;
  children: ComponentChildren;
}) {
  return (
    <section class={`panel${props.flush ? " panel-flush" : ""}${props.class ? ` ${props.class}` : ""}`}>
      {(props.title || props.aside) && (
        <header class="panel-header">
          {props.title && <h2>{props.title}</h2>}
          {props.aside && <div class="panel-aside">{props.aside}</div>}
        </header>
      )}
      <div class="panel-body">{props.children}</div>
    </section>
  );
}

export function Button(props: {
  children: ComponentChildren;
  onClick?: (event: MouseEvent) => void;
  kind?: "primary" | "danger" | "plain";
  type?: "button" | "submit";
  disabled?: boolean;
  pressed?: boolean;
  expanded?: boolean;
  controls?: string;
  label?: string;
  title?: string;
}) {
  return (
    <button
      type={props.type ?? "button"}
      class={`button${props.kind ? ` button-${props.kind}` : ""}`}
      onClick={props.onClick}
      disabled={props.disabled}
      aria-pressed={props.pressed}
      aria-expanded={props.expanded}
      aria-controls={props.controls}
      aria-label={props.label}
      title={props.title ?? props.label}
    >
      {props.children}
    </button>
  );
}

export function Toolbar({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="toolbar" role="group" aria-label={label}>
      {children}
    </div>
  );
}

/** What an empty list says: a heading, and a sentence about what to do. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children && <div class="muted">{children}</div>}
    </div>
  );
}

/** What the viewer may not see, and the right that is missing. */
export function Denials({ denials }: { denials: readonly string[] }) {
  if (!denials.length) return null;
  return (
    <div class="notice notice-warn" role="note">
      <p>Your rights hide a part of this page:</p>
      <ul>
        {denials.map((denial) => (
          <li key={denial}>{denial}</li>
        ))}
      </ul>
    </div>
  );
}

export function ErrorNotice({ error }: { error: ApiError }) {
  return (
    <div class="notice notice-failed" role="alert">
      {error.message}
    </div>
  );
}

/** The states of data: loading, an error, or the content. Old content stays beside a new error. */
export function Loaded<T>({ from, children }: { from: Data<T>; children: (data: T) => ComponentChildren }) {
  return (
    <>
      {from.error && <ErrorNotice error={from.error} />}
      {from.data ? children(from.data) : !from.error && <Loading />}
    </>
  );
}

export function Loading() {
  return (
    <div class="loading" role="status">
      <span class="spinner" aria-hidden="true" />
      Loading…
    </div>
  );
}

/** A text that may be long: cut with an ellipsis, whole in the title. */
export function Cut({ text, mono }: { text: string; mono?: boolean }) {
  return (
    <span class={mono ? "cut mono" : "cut"} title={text}>
      {text}
    </span>
  );
}

export interface TabItem {
  readonly id: string;
  readonly label: string;
  readonly count?: number;
}

/** Tabs by the pattern of ARIA: arrow keys move, the panel is `<div role="tabpanel" id="panel-ID">`. */
export function Tabs(props: {
  label: string;
  items: readonly TabItem[];
  selected: string;
  onSelect: (id: string) => void;
}) {
  const move = (event: TargetedKeyboardEvent<HTMLDivElement>): void => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    event.preventDefault();
    const index = props.items.findIndex((item) => item.id === props.selected);
    const next = props.items[(index + step + props.items.length) % props.items.length];
    if (!next) return;
    props.onSelect(next.id);
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${CSS.escape(next.id)}"]`)?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={props.label} onKeyDown={move}>
      {props.items.map((item) => (
        <button
          key={item.id}
          type="button"
          role="tab"
          id={`tab-${item.id}`}
          data-tab={item.id}
          aria-selected={item.id === props.selected}
          tabIndex={item.id === props.selected ? 0 : -1}
          onClick={() => props.onSelect(item.id)}
        >
          {item.label}
          {item.count !== undefined && <span class="count">{item.count.toLocaleString("en")}</span>}
        </button>
      ))}
    </div>
  );
}
