// A form: its nodes and rollout, its resources as a graph, a preview for one row, and the plan over all rows.
import { useMemo } from "preact/hooks";
import { urls } from "../api";
import type { FormView, PreviewView, ResourceView } from "../api-types";
import { Actions } from "../components/actions";
import { Age } from "../components/age";
import { Empty, ErrorNotice, Loaded, Page, Panel, Tabs } from "../components/base";
import { Conditions } from "../components/conditions";
import { Drawer } from "../components/drawer";
import { Policies, Resources } from "../components/graph";
import { NodeCounts } from "../components/node-counts";
import { PlanPanel } from "../components/plan";
import { Rollout } from "../components/rollout";
import { State, toneOf } from "../components/state";
import { Yaml } from "../components/yaml";
import { useData } from "../data";
import { lineDiff } from "../model/diff";
import { address, pathOf, setQuery } from "../router";

const TABS = [
  { id: "resources", label: "Resources" },
  { id: "preview", label: "Preview" },
  { id: "plan", label: "Plan" },
];

export function FormPage({ namespace, name }: { namespace: string; name: string }) {
  const form = useData(urls.form(namespace, name), (change) =>
    change.changed.some((item) => item.namespace === namespace && (item.kind === "Node" ? item.form === name : item.name === name)) ||
    change.deleted.some((key) => key.includes(`/${namespace}/`)),
  );
  return (
    <Page
      title={name}
      subtitle={form.data && <Headline form={form.data} />}
      actions={form.data && <Actions target={form.data.summary} paused={form.data.paused} />}
    >
      <Loaded from={form}>{(data) => <FormContent form={data} />}</Loaded>
    </Page>
  );
}

function FormContent({ form }: { form: FormView }) {
  const { summary } = form;
  const tab = address.value.query.get("tab") ?? "resources";
  return (
    <>
      {summary.state !== "Ready" && summary.message && <p class={`notice notice-${toneOf(summary.state)}`}><strong>{summary.cause}</strong> {summary.message}</p>}
      <div class={tab === "resources" ? "columns" : "columns columns-wide"}>
        <div class="column-main">
          <Panel title="Nodes by state">
            <NodeCounts nodes={form.nodes} form={summary} />
            {form.rollout && <Rollout rollout={form.rollout} />}
          </Panel>
          <Tabs label="Parts of the form" selected={tab} onSelect={(id) => setQuery({ tab: id === "resources" ? "" : id, resource: "" })} items={TABS} />
          <div role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`}>
          {tab === "resources" && <ResourcesTab form={form} />}
          {tab === "preview" && <PreviewTab form={form} />}
          {tab === "plan" && <Panel title="Plan"><PlanPanel url={urls.formPlan(summary.namespace, summary.name)} subject={`form ${summary.name}`} /></Panel>}
          </div>
        </div>
        <div class="column-side">
          <Panel title="Variables"><Variables form={form} /></Panel>
          <Panel title="Conditions"><Conditions conditions={form.conditions} /></Panel>
        </div>
      </div>
    </>
  );
}

function Headline({ form: { summary } }: { form: FormView }) {
  return (
    <span class="headline">
      <State state={summary.state} />
      {summary.since && <span>for <Age at={summary.since} /></span>}
      <span>
        form {summary.hub && <>of hub <a href={pathOf({ kind: "Hub", namespace: summary.namespace, name: summary.hub, uid: "" })}>{summary.hub}</a> </>}
        in {summary.namespace}
      </span>
    </span>
  );
}

function Variables({ form }: { form: FormView }) {
  if (!form.variables.length) return <p class="muted">The hub of this form cannot be read.</p>;
  return (
    <dl class="values values-inline">
      {form.variables.map(({ variable, column }) => (
        <div key={variable}><dt><code>.{variable}</code></dt><dd>{column ? <>column {column}</> : <em class="muted">set by Lynq</em>}</dd></div>
      ))}
    </dl>
  );
}

function ResourcesTab({ form }: { form: FormView }) {
  const chosen = address.value.query.get("resource") ?? "";
  const resource = form.resources.find(({ id }) => id === chosen);
  const select = (id: string): void => setQuery({ resource: id });
  return (
    <Panel title="Resources">
      <Resources resources={form.resources} selected={chosen} onSelect={select} label={form.summary.name} />
      {resource && <TemplateDetails resource={resource} template={form.templates[resource.id] ?? ""} onClose={() => select("")} />}
    </Panel>
  );
}

function TemplateDetails({ resource, template, onClose }: { resource: ResourceView; template: string; onClose: () => void }) {
  return (
    <Drawer title={resource.id} subtitle={`${resource.kind} ${resource.apiVersion}`} onClose={onClose}>
      <dl class="resource-facts">
        {resource.dependsOn.length > 0 && <><dt>Depends on</dt><dd>{resource.dependsOn.join(", ")}</dd></>}
        <dt>Policies</dt>
        <dd>{Object.keys(resource.policies).length ? <Policies policies={resource.policies} /> : <span class="muted">all defaults</span>}</dd>
      </dl>
      {template ? <Yaml text={template} label={`Template of ${resource.id}`} /> : <p class="muted">The resource has no manifest.</p>}
    </Drawer>
  );
}

function PreviewTab({ form }: { form: FormView }) {
  const { namespace, name } = form.summary;
  const uid = address.value.query.get("uid") || form.uids[0] || "";
  const { data, error, loading } = useData(uid ? urls.preview(namespace, name, uid) : null, (change) =>
    change.changed.some((item) => item.namespace === namespace && (item.uid === uid || item.name === name)),
  );
  const choose = (event: Event): void => {
    event.preventDefault();
    const input = (event.currentTarget as HTMLFormElement).elements.namedItem("uid") as HTMLInputElement;
    setQuery({ uid: input.value.trim() });
  };
  return (
    <Panel title="Preview">
      <form class="preview-choice" onSubmit={choose} key={uid}>
        <label>Row <input class="field" name="uid" list="preview-uids" defaultValue={uid} placeholder="uid of a row" autocomplete="off" spellcheck={false} /></label>
        <datalist id="preview-uids">{form.uids.map((each) => <option key={each} value={each} />)}</datalist>
        <button type="submit" class="button">Preview</button>
        {loading && uid && <span class="muted" role="status">Rendering…</span>}
      </form>
      {!uid && <Empty title="The form has no rows">A preview needs the uid of a row.</Empty>}
      {error && <ErrorNotice error={error} />}
      {data && <Previews form={form} preview={data} />}
    </Panel>
  );
}

function Previews({ form, preview }: { form: FormView; preview: PreviewView }) {
  const failed = preview.resources.filter(({ error }) => error).length;
  const ordered = [...preview.resources].sort((one, other) => Number(!one.error) - Number(!other.error));
  return (
    <>
      <p class={failed ? "notice notice-failed" : "muted"}>
        {failed ? `${failed} of ${preview.resources.length} resources cannot be rendered for ${preview.uid}.` : `${preview.resources.length} resources, rendered for ${preview.uid}.`}
      </p>
      {ordered.map(({ id, result, error }, index) => (
        <details key={id} class="preview" open={Boolean(error) || (index === 0 && !failed)}>
          <summary>
            <strong>{id}</strong> <span class="muted">{form.resources.find((resource) => resource.id === id)?.kind}</span>{" "}
            {error && <State state="Failed" />}
          </summary>
          <SideBySide template={form.templates[id] ?? ""} result={result} error={error} id={id} />
        </details>
      ))}
    </>
  );
}

function SideBySide({ template, result, error, id }: { template: string; result: string; error: string; id: string }) {
  const marks = useMemo(() => (error ? null : markedLines(template, result)), [template, result, error]);
  return (
    <div class="side-by-side">
      <div><h3>Template</h3><Yaml text={template} label={`Template of ${id}`} {...(marks ? { marked: marks.template } : {})} /></div>
      <div>
        <h3>Result</h3>
        {error ? <p class="notice notice-failed lines">{error}</p> : <Yaml text={result} label={`Result of ${id}`} {...(marks ? { marked: marks.result } : {})} />}
      </div>
    </div>
  );
}

/** The lines that rendering changed, counted from 0, in both texts. The template is indented deeper. */
function markedLines(template: string, result: string): { template: Set<number>; result: Set<number> } {
  const marks = { template: new Set<number>(), result: new Set<number>() };
  let [before, after] = [0, 0];
  for (const part of lineDiff(trimmed(template), trimmed(result))) {
    if (part.type === "removed") marks.template.add(before++);
    else if (part.type === "added") marks.result.add(after++);
    else {
      before++;
      after++;
    }
  }
  return marks;
}

const trimmed = (text: string): string => text.split("\n").map((line) => line.trim()).join("\n");
