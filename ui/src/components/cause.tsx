// Why a node is not ready: what, why, the column that it comes from, what waits, and what to do.
import type { CauseView, OriginView } from "../api-types";
import { Age } from "./age";
import { Tag } from "./tag";
import { Command } from "./copy";
import { Documentation } from "./documentation";

interface Props {
  cause: CauseView;
  kind: "cause" | "note";
  onResource: (id: string) => void;
}

export function Cause({ cause, kind, onResource }: Props) {
  return (
    <article class={`cause cause-${kind}`} aria-label={`${cause.kind}: ${cause.subject}`}>
      <header>
        <Tag tone={kind === "cause" ? "failed" : "warn"}>{words(cause.kind)}</Tag>
        {cause.resourceId
          ? <button type="button" class="link" onClick={() => onResource(cause.resourceId)}>{cause.subject}</button>
          : <strong>{cause.subject}</strong>}
        {cause.since && <span class="muted">for <Age at={cause.since} /></span>}
      </header>
      <p class="cause-message">{cause.message}</p>
      {cause.details.map((detail, index) => <p key={index} class="cause-detail">{detail}</p>)}
      {cause.origins.length > 0 && (
        <ul class="origins" aria-label="Where the values come from">
          {cause.origins.map((origin) => <Origin key={origin.field + origin.variable} origin={origin} />)}
        </ul>
      )}
      {cause.waiting.length > 0 && (
        <p class="cause-row">
          <span class="cause-label">Waiting</span>
          <span class="chips">{cause.waiting.map((each) => <Tag key={each}>{each}</Tag>)}</span>
        </p>
      )}
      {cause.nextSteps.length > 0 && (
        <div class="cause-row">
          <span class="cause-label">Next</span>
          <ol class="steps">
            {cause.nextSteps.map((step) => <li key={step}><Step text={step} /></li>)}
          </ol>
        </div>
      )}
      <Documentation entry={cause.documentation} />
    </article>
  );
}

function Origin({ origin }: { origin: OriginView }) {
  return (
    <li>
      <code>{origin.field}</code>
      {origin.column
        ? <> comes from column <strong>{origin.column}</strong>{origin.value !== null && <>, value <code class="value">{origin.value || "(empty)"}</code></>}</>
        : <> uses <code>.{origin.variable}</code>, which the hub does not map</>}
    </li>
  );
}

const COMMAND = /(?:^|: )((?:lynq|kubectl) .*)$/s;

function Step({ text }: { text: string }) {
  const match = COMMAND.exec(text);
  if (!match) return <>{text}</>;
  const before = text.slice(0, match.index);
  return <>{before && <>{before}: </>}<Command text={match[1]!} /></>;
}

/** ContainerFailing as words: "Container failing". */
function words(kind: string): string {
  const text = kind.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  return text.charAt(0).toUpperCase() + text.slice(1);
}
