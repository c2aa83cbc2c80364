// A button that copies a text, and a command with such a button.
import { useEffect, useState } from "preact/hooks";

export function Copy({ text, label = "Copy" }: { text: string; label?: string }) {
  const [state, setState] = useState<"" | "Copied" | "Not allowed">("");
  useEffect(() => {
    if (!state) return undefined;
    const timer = setTimeout(() => setState(""), 2_000);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = (): void => {
    // Without TLS, browsers have no clipboard: the text can still be selected.
    const written = navigator.clipboard?.writeText(text) ?? Promise.reject(new Error("no clipboard"));
    written.then(() => setState("Copied"), () => setState("Not allowed"));
  };
  return (
    <button type="button" class="copy" aria-label={label} title={label} onClick={copy}>
      <span aria-live="polite">{state || "Copy"}</span>
    </button>
  );
}

export function Command({ text }: { text: string }) {
  return (
    <span class="command">
      <code>{text}</code>
      <Copy text={text} label={`Copy: ${text}`} />
    </span>
  );
}
