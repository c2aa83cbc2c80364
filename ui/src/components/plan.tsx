// The plan of a form or hub: what would change over all rows, equal changes folded.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { fetchPlan, type Url } from "../api";
import type { PlanProgress, PlanView } from "../api-types";
import { groupChanges, groupFailures, valueText, type ChangeGroup, type Plan } from "../model/plan";
import { Button, Denials, Empty } from "./base";
import { Tag } from "./tag";
import { FieldDiff } from "./diff";
import { Pager } from "./pager";

const GROUPS_PER_PAGE = 20;
const OBJECTS_PER_PAGE = 50;
const WAVES = 5;

type Run = { state: "idle" } | { state: "running"; start: number; progress: PlanProgress | null } | { state: "done"; view: PlanView; seconds: number } | { state: "failed"; message: string };

export function PlanPanel({ url, subject }: { url: Url<PlanView>; subject: string }) {
  const [run, setRun] = useState<Run>({ state: "idle" });
  const abort = useRef<AbortController | null>(null);
  useEffect(() => () => abort.current?.abort(), []);
  const start = async (): Promise<void> => {
    abort.current?.abort();
    const controller = (abort.current = new AbortController());
    const begin = performance.now();
    const report = (progress: PlanProgress | null): void => setRun({ state: "running", start: begin, progress });
    report(null);
    try {
      const view = await fetchPlan(url, report, controller.signal);
      setRun({ state: "done", view, seconds: (performance.now() - begin) / 1000 });
    } catch (error) {
      if (controller.signal.aborted) setRun({ state: "idle" });
      else setRun({ state: "failed", message: error instanceof Error ? error.message : String(error) });
    }
  };
  return (
    <div class="plan">
      <div class="plan-bar">
        {run.state === "running"
          ? <Button onClick={() => abort.current?.abort()}>Cancel</Button>
          : <Button kind="primary" onClick={() => void start()}>{run.state === "done" ? "Plan again" : "Plan over all rows"}</Button>}
        <span class="muted">
          {run.state === "done"
            ? `Dry run on the API server, ${run.seconds.toFixed(1)} s. Nothing was changed.`
            : `What the operator would do for ${subject} now: a dry run on the API server. Nothing is changed.`}
        </span>
      </div>
      {run.state === "running" && <Progress start={run.start} progress={run.progress} />}
      {run.state === "failed" && <p class="notice notice-failed" role="alert">{run.message}</p>}
      {run.state === "done" && <PlanResult view={run.view} />}
    </div>
  );
}

function Progress({ start, progress }: { start: number; progress: PlanProgress | null }) {
  const [now, setNow] = useState(start);
  useEffect(() => {
    const timer = setInterval(() => setNow(performance.now()), 500);
    return () => clearInterval(timer);
  }, []);
  const { phase, done, total } = progress ?? { phase: "Reading", done: 0, total: 0 };
  return (
    <div class="plan-progress">
      {total > 0 ? <progress aria-label="Planned nodes" value={done} max={total} /> : <progress aria-label="The plan begins" />}
      <span>
        {phase === "Waiting"
          ? "Waiting for the plan of another viewer"
          : total > 0
            ? `${done.toLocaleString("en")} of ${total.toLocaleString("en")} nodes rendered and sent as a dry run`
            : "Rows, forms and objects are read"}
        , {Math.max(0, Math.floor((now - start) / 1000))} s. Leaving the page cancels the plan.
      </span>
    </div>
  );
}

const WORDS = { Create: "created", Update: "updated", Replace: "replaced", Delete: "deleted", Orphan: "orphaned", Adopt: "adopted" } as const;
const SIGNS = { Create: "+", Update: "~", Replace: "±", Delete: "−", Orphan: "○", Adopt: "⊕" } as const;

function PlanResult({ view }: { view: PlanView }) {
  const plan = view.plan as unknown as Plan;
  const groups = useMemo(() => groupChanges(plan.changes), [plan]);
  const failures = useMemo(() => groupFailures(plan.failed), [plan]);
  const [page, setPage] = useState(0);
  const restarts = plan.totals["restarts"] ?? 0;
  return (
    <div class="plan-result" aria-live="polite">
      <ul class="plan-totals" aria-label="Totals">
        {Object.entries(WORDS).map(([action, word]) => (
          <li key={action} class={`plan-total plan-total-${action.toLowerCase()} ${plan.totals[action] ? "" : "zero"}`}>
            <strong>{plan.totals[action] ?? 0}</strong> {word}
          </li>
        ))}
        <li class={`plan-total plan-total-restart ${restarts ? "" : "zero"}`}><strong>{restarts}</strong> {restarts === 1 ? "workload restarts" : "workloads restart"}</li>
      </ul>
      <Denials denials={view.denials} />
      {plan.guard.verdict === "Held" && (
        <p class="notice notice-warn">
          The deletion guard would hold the deletion of {counted(plan.guard.count, "node")}; digest <code>{plan.guard.digest}</code>.
        </p>
      )}
      {failures.length > 0 && (
        <section class="plan-failures" aria-label="Cannot be applied">
          <h3>{counted(plan.failed.length, "resource")} cannot be applied</h3>
          <ul>
            {failures.map(({ id, reason, nodes }) => (
              <li key={id + reason}><strong>{id || "whole node"}</strong>: {reason} <Names names={nodes} /></li>
            ))}
          </ul>
        </section>
      )}
      {plan.rejected.length > 0 && (
        <section class="plan-failures" aria-label="Rejected rows">
          <h3>{counted(plan.rejected.length, "row")} without a node</h3>
          <ul>{plan.rejected.slice(0, 20).map(({ uid, reason }) => <li key={uid + reason}><strong>{uid || "(no uid)"}</strong>: {reason}</li>)}</ul>
        </section>
      )}
      {groups.length === 0
        ? <Empty title="Nothing would change">All objects are as the rows and the form say.</Empty>
        : <>
            <ul class="plan-groups" aria-label="Changes">
              {groups.slice(page * GROUPS_PER_PAGE, (page + 1) * GROUPS_PER_PAGE).map((group) => <GroupItem key={group.key} group={group} isOpen={groups.length === 1} />)}
            </ul>
            <Pager page={page} size={GROUPS_PER_PAGE} total={groups.length} what="changes" onPage={setPage} />
          </>}
      {(plan.rollouts ?? []).map((rollout) => (
        <section key={rollout.form} aria-label={`Rollout of ${rollout.form}`}>
          <h3>Rollout of {rollout.form}, at most {rollout.maxSkew} at a time</h3>
          <ol class="waves">
            {rollout.waves.slice(0, WAVES).map((wave, index) => <li key={index}><strong>{wave.length}</strong> <Names names={wave} /></li>)}
            {rollout.waves.length > WAVES && <li class="muted">and {rollout.waves.length - WAVES} more waves</li>}
          </ol>
          {rollout.waiting.length > 0 && <p class="notice notice-warn">{counted(rollout.waiting.length, "node")} without a slot. Not ready, and holding the slots: {rollout.holders.slice(0, 5).join(", ")}</p>}
        </section>
      ))}
      {plan.notes.map((note) => <p key={note} class="muted">{note}</p>)}
    </div>
  );
}

function GroupItem({ group, isOpen }: { group: ChangeGroup; isOpen: boolean }) {
  const [page, setPage] = useState(0);
  const count = group.changes.length;
  const fields = group.fields.map((field) => ({
    path: field.path,
    before: valueText(field.before),
    after: valueText(field.after),
    ...(group.varying.has(field.path) ? { note: `values differ, these are of ${group.changes[0]!.name}` } : {}),
  }));
  const isDeletion = group.action === "Delete" || group.action === "Replace";
  return (
    <li class={`plan-group plan-${group.action.toLowerCase()}`}>
      <details open={isOpen}>
        <summary>
          <span class="plan-sign" aria-hidden="true">{SIGNS[group.action]}</span>
          <strong>{group.action}</strong> {count} × {group.kind}
          {group.form && <span class="muted">of {group.form}</span>}
          {group.held && <Tag tone="warn">held by the guard</Tag>}
          {group.restartsPods && <Tag tone="warn">pods restart</Tag>}
          {isDeletion && !group.held && <Tag tone="failed">data may be lost</Tag>}
          {count === 1 && <span class="muted cut">{group.changes[0]!.name}</span>}
        </summary>
        {fields.length > 0 && <FieldDiff fields={fields} words={["before", "after"]} />}
        <ul class="plan-objects" aria-label="Objects">
          {group.changes.slice(page * OBJECTS_PER_PAGE, (page + 1) * OBJECTS_PER_PAGE).map((change) => (
            <li key={`${change.namespace}/${change.name}`} class="cut" title={`${change.namespace}/${change.name}`}>
              {change.namespace && <span class="muted">{change.namespace}/</span>}{change.name}
            </li>
          ))}
        </ul>
        <Pager page={page} size={OBJECTS_PER_PAGE} total={count} what="objects" onPage={setPage} />
      </details>
    </li>
  );
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

function Names({ names }: { names: readonly string[] }) {
  const shown = names.slice(0, 5).join(", ");
  return <span class="muted">{shown}{names.length > 5 && ` and ${names.length - 5} more`}</span>;
}
