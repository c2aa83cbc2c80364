// The start page: what is wrong, grouped by cause; with no problem, what is watched.
import { useState } from "preact/hooks";
import { urls } from "../api";
import type { NodesByState, ProblemGroup, SummaryView } from "../api-types";
import { Age } from "../components/age";
import { Cut, Denials, Empty, Loaded, Page } from "../components/base";
import { Documentation } from "../components/documentation";
import { Paged } from "../components/pager";
import { Glyph, State, type Tone, toneOf } from "../components/state";
import { formatted, Totals } from "../components/totals";
import { useData } from "../data";
import { namespace, pathOf } from "../router";

const GROUPS_PER_PAGE = 40;
const NOUNS = { Node: ["tenant", "tenants"], Form: ["form", "forms"], Hub: ["hub", "hubs"] } as const;

function toneOfGroup(group: ProblemGroup): Tone {
  const tones = group.examples.map((member) => toneOf(member.state));
  return tones.find((tone) => tone === "failed") ?? tones.find((tone) => tone === "warn") ?? tones[0] ?? "failed";
}

function Member({ member }: { member: SummaryView }) {
  const name = member.kind === "Node" ? member.uid || member.name : member.name;
  return (
    <li>
      <a href={pathOf(member)}>
        <State state={member.state} compact />
        <Cut text={name} />
      </a>
      <span class="muted">
        <Cut text={member.kind === "Node" ? `${member.namespace} · ${member.form}` : member.namespace} />
      </span>
      <Age at={member.since} />
    </li>
  );
}

function Group({ group, open, onToggle }: { group: ProblemGroup; open: boolean; onToggle: () => void }) {
  const id = `group-${group.key}`;
  const [singular, plural] = NOUNS[group.kind];
  const tone = toneOfGroup(group);
  return (
    <li class={`group panel edge-${tone}`}>
      <h2>
        <button type="button" data-item aria-expanded={open} aria-controls={id} onClick={onToggle}>
          <Glyph tone={tone} />
          <span class="group-count">
            <strong>{formatted(group.count)}</strong> <span>{group.count === 1 ? singular : plural}</span>
          </span>
          <span class="group-title" title={group.title}>
            {group.title}
          </span>
          <span class="group-since">
            <span class="muted">since</span> <Age at={group.since} />
          </span>
          <svg class="chevron" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            <path d="M4 6l4 4 4-4" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" />
          </svg>
        </button>
      </h2>
      {group.message && <p class={`group-message${open ? "" : " clamp"}`}>{group.message}</p>}
      <p class="group-tags">
        {group.cause && <span class="tag">{group.cause}</span>}
        {group.form && <span class="tag">form {group.form}</span>}
        {group.hub && <span class="tag">hub {group.hub}</span>}
        {group.resourceId && <span class="tag">resource {group.resourceId}</span>}
      </p>
      {open && (
        <div id={id} class="group-members">
          <ul>
            {group.examples.map((member) => (
              <Member key={`${member.namespace}/${member.name}`} member={member} />
            ))}
          </ul>
          <p class="group-more">
            {group.kind === "Node" && group.count > group.examples.length && (
              <a href={`/nodes?group=${encodeURIComponent(group.key)}`}>
                All {formatted(group.count)} {plural}
              </a>
            )}
            <Documentation entry={group.documentation} />
          </p>
        </div>
      )}
    </li>
  );
}

function Healthy({ nodes }: { nodes: NodesByState }) {
  const fleet = useData(urls.fleet(namespace.value));
  const hubs = fleet.data?.hubs ?? [];
  const forms = hubs.reduce((sum, row) => sum + row.forms.length, 0);
  const reads = hubs.map((row) => row.lastSync).filter((at) => at !== null);
  const latest = reads.sort().at(-1) ?? null;
  if (fleet.data && !hubs.length && !nodes.total) {
    return (
      <div class="calm panel">
        <Empty title="Nothing to watch yet">
          {namespace.value
            ? `The namespace ${namespace.value} has no LynqHub that you may see. Choose another namespace above.`
            : "Create a LynqHub that reads a table, and a LynqForm that says what each row becomes. They appear here by themselves."}
        </Empty>
      </div>
    );
  }
  return (
    <div class="calm panel">
      <svg viewBox="0 0 48 48" width="48" height="48" aria-hidden="true">
        <circle cx="24" cy="24" r="22" class="calm-disc" />
        <path d="M15 24.5l6.5 6.5L33.5 18" class="calm-check" />
      </svg>
      <p class="empty-title">No problems</p>
      <p class="muted">
        Lynq watches {formatted(nodes.total)} {nodes.total === 1 ? "node" : "nodes"}
        {fleet.data && ` of ${forms} ${forms === 1 ? "form" : "forms"} and ${hubs.length} ${hubs.length === 1 ? "hub" : "hubs"}`}
        {namespace.value && ` in the namespace ${namespace.value}`}.
      </p>
      {latest && (
        <p class="muted">
          The rows were read <Age at={latest} suffix="ago" />. New problems appear here by themselves.
        </p>
      )}
    </div>
  );
}

export function ProblemsPage() {
  const problems = useData(urls.problems(namespace.value));
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const toggle = (key: string): void =>
    setOpen((old) => {
      const next = new Set(old);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  return (
    <Page title="Problems" subtitle="What is not ready, grouped by cause.">
      <Loaded from={problems}>
        {(data) => (
          <>
            <Denials denials={data.denials} />
            {data.nodes.total > 0 && <Totals nodes={data.nodes} />}
            {data.groups.length ? (
              <Paged items={data.groups} size={GROUPS_PER_PAGE} what="problems">
                {(groups) => (
                  <ul class="groups" aria-label="Problems">
                    {groups.map((group) => (
                      <Group key={group.key} group={group} open={open.has(group.key)} onToggle={() => toggle(group.key)} />
                    ))}
                  </ul>
                )}
              </Paged>
            ) : (
              <Healthy nodes={data.nodes} />
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}
