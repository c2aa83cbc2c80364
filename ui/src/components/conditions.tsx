// The conditions of a hub, form or node.
import type { ConditionView } from "../api-types";
import { Age } from "./age";

export function Conditions({ conditions }: { conditions: readonly ConditionView[] }) {
  if (!conditions.length) return <p class="muted">None yet: the operator has not reconciled the object.</p>;
  return (
    <ul class="conditions">
      {conditions.map((condition) => (
        <li key={condition.type}>
          <strong>{condition.type}</strong> {condition.status}
          {condition.reason && <span> · {condition.reason}</span>}
          {condition.since && <span class="muted"> · for <Age at={condition.since} /></span>}
          {condition.message && <p class="muted">{condition.message}</p>}
        </li>
      ))}
    </ul>
  );
}
