// Details beside the page, over it on the phone. The page stays where it is; Escape closes the drawer.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface Props {
  title: string;
  subtitle?: string;
  onClose: () => void;
  children: ComponentChildren;
}

export function Drawer({ title, subtitle, onClose, children }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const id = useId();
  const close = useRef(onClose);
  close.current = onClose;
  useEffect(() => {
    // Before the heading takes the focus.
    const opener = document.activeElement;
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === "Escape" && !document.querySelector("dialog[open]")) close.current();
    };
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => {
    heading.current?.focus({ preventScroll: true });
  }, [title, subtitle]);
  return (
    <aside class="drawer" aria-labelledby={id}>
      <header class="drawer-head">
        <div class="drawer-title">
          <h2 id={id} tabIndex={-1} ref={heading}>{title}</h2>
          {subtitle && <p class="muted">{subtitle}</p>}
        </div>
        <button type="button" class="icon-button" aria-label="Close the details" title="Close (Esc)" onClick={onClose}>✕</button>
      </header>
      <div class="drawer-body">{children}</div>
    </aside>
  );
}
