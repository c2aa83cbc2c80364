// YAML with highlighting: text nodes and spans, never HTML.
import { useMemo } from "preact/hooks";
import { tokenize, type Token } from "../model/yaml";
import { Copy } from "./copy";

/** Number of lines that are highlighted; the rest is plain, so that a large object stays cheap. */
const HIGHLIGHTED = 400;

interface Props {
  text: string;
  label: string;
  /** Lines to mark, counted from 0. */
  marked?: ReadonlySet<number>;
}

export function Yaml({ text, label, marked }: Props) {
  const lines = useMemo(() => text.replace(/\n$/, "").split("\n"), [text]);
  const tokens = useMemo(() => tokenize(lines.slice(0, HIGHLIGHTED).join("\n")), [lines]);
  return (
    <div class="yaml">
      <Copy text={text} label={`Copy ${label}`} />
      <pre tabIndex={0} role="region" aria-label={label}>
        <code>
          {tokens.map((line, index) => <Line key={index} tokens={line} isMarked={marked?.has(index) ?? false} />)}
          {lines.length > HIGHLIGHTED && lines.slice(HIGHLIGHTED).join("\n")}
        </code>
      </pre>
    </div>
  );
}

function Line({ tokens, isMarked }: { tokens: readonly Token[]; isMarked: boolean }) {
  const parts = tokens.map((token, index) =>
    token.type === "text" || token.type === "mark"
      ? token.text
      : <span key={index} class={`yaml-${token.type}`}>{token.text}</span>,
  );
  return isMarked ? <mark class="yaml-marked">{parts}{"\n"}</mark> : <>{parts}{"\n"}</>;
}

/** What people rarely read, folded. */
export function Folded({ summary, text }: { summary: string; text: string }) {
  if (!text) return null;
  return (
    <details class="folded">
      <summary>{summary}</summary>
      <Yaml text={text} label={summary} />
    </details>
  );
}
