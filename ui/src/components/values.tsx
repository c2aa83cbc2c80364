// Values of a row by variable, with the column that each comes from.
import type { RowValue } from "../api-types";

export function Values({ values, empty }: { values: readonly RowValue[]; empty: string }) {
  if (!values.length) return <p class="muted">{empty}</p>;
  return (
    <dl class="values">
      {values.map(({ variable, column, value }) => (
        <div key={variable}>
          <dt><code>{variable}</code>{column && column !== variable && <span class="muted"> column {column}</span>}</dt>
          <dd class="value">{value || <em class="muted">empty</em>}</dd>
        </div>
      ))}
    </dl>
  );
}
