// All hubs and their forms: counts, rollouts, held deletions, and how long rows take.
import { urls } from "../api";
import type { FormCell, HubRow, RolloutView } from "../api-types";
import { Age } from "../components/age";
import { Bar, partsOf } from "../components/bar";
import { Cut, Denials, Empty, Loaded, Page, Panel } from "../components/base";
import { LatencyChart } from "../components/latency-chart";
import { Paged } from "../components/pager";
import { Glyph, State } from "../components/state";
import { formatted, Totals } from "../components/totals";
import { useData } from "../data";
import { namespace, pathOf } from "../router";

const HUBS_PER_PAGE = 10;

/** The progress of a rollout: how many nodes have the new revision, and how many are ready. */
export function Rollout({ rollout }: { rollout: RolloutView }) {
  const isFailed = rollout.phase === "Failed";
  const waiting = Math.max(0, rollout.updated - rollout.ready);
  return (
    <div class="rollout">
      <p>
        <span class={isFailed ? "tone-failed" : undefined}>Rollout {rollout.phase.toLowerCase()}</span>
        <span class="muted">
          {formatted(rollout.updated)} of {formatted(rollout.total)} updated
          {rollout.maxSkew > 0 && `, ${rollout.maxSkew} at a time`}
        </span>
      </p>
      <Bar
        label={`Rollout: ${rollout.ready} ready, ${waiting} updated and not ready, ${rollout.total - rollout.updated} to update`}
        parts={[
          { tone: "ready", count: rollout.ready, label: "ready" },
          { tone: isFailed ? "failed" : "progress", count: waiting, label: "updated" },
          { tone: "paused", count: Math.max(0, rollout.total - rollout.updated), label: "to update" },
        ]}
      />
      {isFailed && rollout.message && <p class="clamp tone-failed">{rollout.message}</p>}
    </div>
  );
}

const isRunning = (rollout: RolloutView | null): rollout is RolloutView =>
  rollout !== null && rollout.phase !== "Complete" && rollout.phase !== "Completed";

function Form({ cell }: { cell: FormCell }) {
  const { form, nodes } = cell;
  const list = `/nodes?q=${encodeURIComponent(`form=${form.name} namespace=${form.namespace}`)}`;
  return (
    <li class="cell">
      <p class="cell-head">
        <a href={pathOf(form)} data-item class="cut" title={form.name}>
          {form.name}
        </a>
        <State state={form.state} />
      </p>
      <p class="cell-counts">
        <a href={list}>
          <strong>{formatted(nodes.ready)}</strong> of {formatted(nodes.total)} ready
        </a>
        {nodes.failed > 0 && (
          <a href={`${list}&state=failed`} class="tone-failed">
            <Glyph tone="failed" /> {formatted(nodes.failed)} failed
          </a>
        )}
      </p>
      <Bar parts={partsOf(nodes)} />
      {isRunning(cell.rollout) && <Rollout rollout={cell.rollout} />}
      {form.message && form.state !== "Ready" && <p class="muted clamp">{form.message}</p>}
    </li>
  );
}

function Hub({ row }: { row: HubRow }) {
  return (
    <section class="panel">
      <header class="panel-header hub-header">
        <h2>
          <a href={pathOf(row.hub)} data-item class="cut" title={`${row.hub.namespace}/${row.hub.name}`}>
            {row.hub.name}
          </a>
        </h2>
        <State state={row.hub.state} />
        <dl class="facts">
          <div>
            <dt>namespace</dt>
            <dd>
              <Cut text={row.hub.namespace} />
            </dd>
          </div>
          <div>
            <dt>rows</dt>
            <dd>{formatted(row.rows)}</dd>
          </div>
          {row.rejected > 0 && (
            <div class="tone-warn">
              <dt>rejected</dt>
              <dd>{formatted(row.rejected)}</dd>
            </div>
          )}
          <div>
            <dt>read</dt>
            <dd>{row.lastSync ? <Age at={row.lastSync} suffix="ago" /> : "never"}</dd>
          </div>
        </dl>
      </header>
      {row.held > 0 && (
        <p class="held">
          <Glyph tone="warn" />
          <span>
            {formatted(row.held)} {row.held === 1 ? "deletion is" : "deletions are"} held by the deletion guard.
          </span>
          <a href={pathOf(row.hub)}>Review</a>
        </p>
      )}
      {row.hub.message && row.hub.state !== "Ready" && !row.held && (
        <p class="held tone-failed">
          <Glyph tone="failed" />
          <span>{row.hub.message}</span>
        </p>
      )}
      {row.forms.length ? (
        <ul class="cells" aria-label={`Forms of ${row.hub.name}`}>
          {row.forms.map((cell) => (
            <Form key={`${cell.form.namespace}/${cell.form.name}`} cell={cell} />
          ))}
        </ul>
      ) : (
        <Empty title="No form uses this hub">
          Create a LynqForm with <code>hubId: {row.hub.name}</code>: it says what each row becomes.
        </Empty>
      )}
    </section>
  );
}

export function FleetPage() {
  const fleet = useData(urls.fleet(namespace.value));
  return (
    <Page title="Fleet" subtitle="Every hub with its forms, and the nodes that they have.">
      <Loaded from={fleet}>
        {(data) => (
          <>
            <Denials denials={data.denials} />
            {data.nodes.total > 0 && <Totals nodes={data.nodes} />}
            {data.hubs.length > 0 && (
              <Panel title="Time from the row to Ready">
                {data.latency.length ? (
                  <LatencyChart points={data.latency} />
                ) : (
                  <Empty title="No node became ready since the dashboard started">
                    The next new row draws the first point.
                  </Empty>
                )}
              </Panel>
            )}
            <Paged items={data.hubs} size={HUBS_PER_PAGE} what="hubs">
              {(hubs) => hubs.map((row) => <Hub key={`${row.hub.namespace}/${row.hub.name}`} row={row} />)}
            </Paged>
            {!data.hubs.length && (
              <div class="panel">
                <Empty title="No hubs">
                  Create a LynqHub that reads a table of your database. It appears here by itself.
                </Empty>
              </div>
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}
