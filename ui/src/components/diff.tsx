// Fields that differ: of the live and the desired object, or before and after a plan.
import { changedPart, folded, lineDiff } from "../model/diff";
import { Tag } from "./tag";

interface Field {
  path: string;
  before: string | null;
  after: string | null;
  /** The field manager that owns the live value. */
  manager?: string;
  note?: string;
}

interface Props {
  fields: readonly Field[];
  /** What the two values are called. */
  words: readonly [string, string];
}

export function FieldDiff({ fields, words }: Props) {
  return (
    <ul class="diff">
      {fields.map((field) => (
        <li key={field.path}>
          <div class="diff-path">
            <code>{field.path}</code>
            {field.manager && <Tag>by {field.manager}</Tag>}
            {field.note && <span class="muted">{field.note}</span>}
          </div>
          <Values field={field} words={words} />
        </li>
      ))}
    </ul>
  );
}

function Values({ field: { before, after }, words }: { field: Field; words: readonly [string, string] }) {
  if (before?.includes("\n") || after?.includes("\n")) return <Lines before={before ?? ""} after={after ?? ""} />;
  const part = before !== null && after !== null ? changedPart(before, after) : null;
  return (
    <div class="diff-values">
      <div class="diff-removed">
        <span class="diff-word">{words[0]}</span>
        {before === null ? <em class="muted">absent</em> : part ? <code>{part.start}<del>{part.removed}</del>{part.end}</code> : <code>{before}</code>}
      </div>
      <div class="diff-added">
        <span class="diff-word">{words[1]}</span>
        {after === null ? <em class="muted">absent</em> : part ? <code>{part.start}<ins>{part.added}</ins>{part.end}</code> : <code>{after}</code>}
      </div>
    </div>
  );
}

const SIGNS = { same: " ", removed: "−", added: "+" } as const;

function Lines({ before, after }: { before: string; after: string }) {
  return (
    <pre class="diff-lines" tabIndex={0}>
      {folded(lineDiff(before, after)).map((part, index) =>
        typeof part === "number"
          ? <span key={index} class="diff-fold">{`⋯ ${part} equal ${part === 1 ? "line" : "lines"}\n`}</span>
          : <span key={index} class={`diff-${part.type}`}>{`${SIGNS[part.type]} ${part.text}\n`}</span>,
      )}
    </pre>
  );
}
