// The details of one resource of a node: why, the differences from the desired object, and the live YAML.
import { useState } from "preact/hooks";
import { urls } from "../api";
import type { ObjectView, ResourceView, SummaryView } from "../api-types";
import { useData } from "../data";
import { Age } from "./age";
import { Tabs } from "./base";
import { FieldDiff } from "./diff";
import { Drawer } from "./drawer";
import { placeOf, Policies } from "./graph";
import { State } from "./state";
import { Folded, Yaml } from "./yaml";

interface Props {
  resource: ResourceView;
  node: SummaryView;
  onClose: () => void;
  onSelect: (id: string) => void;
}

export function ResourceDetails({ resource, node, onClose, onSelect }: Props) {
  const { apiVersion, kind, namespace, name } = resource;
  const exists = Boolean(apiVersion && name);
  const { data, error, loading } = useData<ObjectView>(
    exists ? urls.object({ apiVersion, kind, namespace, name, node: `${node.namespace}/${node.name}` }) : null,
    (change) => change.changed.some((each) => each.kind === "Node" && each.name === node.name && each.namespace === node.namespace),
  );
  return (
    <Drawer title={resource.id} subtitle={`${kind} ${placeOf(resource)}`} onClose={onClose}>
      <p class="drawer-state">
        {resource.state && <State state={resource.state} />}
        {resource.reason && <strong>{resource.reason}</strong>}
        {resource.since && <span class="muted">for <Age at={resource.since} /></span>}
      </p>
      {resource.message && <p class="resource-message">{resource.message}</p>}
      <dl class="resource-facts">
        <dt>API version</dt><dd>{apiVersion || "unknown"}</dd>
        {resource.dependsOn.length > 0 && (
          <>
            <dt>Depends on</dt>
            <dd>{resource.dependsOn.map((id, index) => <>{index > 0 && ", "}<button type="button" class="link" key={id} onClick={() => onSelect(id)}>{id}</button></>)}</dd>
          </>
        )}
        {Object.keys(resource.policies).length > 0 && <><dt>Policies</dt><dd><Policies policies={resource.policies} /></dd></>}
      </dl>
      {!exists && <p class="muted">The object does not exist yet.</p>}
      {error && <p class="notice notice-failed" role="alert">{error.message}</p>}
      {exists && !data && loading && <p class="muted" role="status">Reading the object…</p>}
      {data && <LiveObject object={data} />}
    </Drawer>
  );
}

function LiveObject({ object }: { object: ObjectView }) {
  const count = object.differences?.length ?? 0;
  const [tab, setTab] = useState(count ? "differences" : "yaml");
  const differences = (object.differences ?? []).map(({ path, live, desired, manager }) => ({ path, before: live, after: desired, manager }));
  return (
    <>
      {object.problem && <p class="notice notice-warn">{object.problem}</p>}
      <Tabs
        label="Details of the object"
        selected={tab}
        onSelect={setTab}
        items={[
          { id: "yaml", label: "YAML" },
          { id: "differences", label: "Differences", ...(object.differences ? { count } : {}) },
        ]}
      />
      {tab === "yaml" && (
        <>
          {object.yaml ? <Yaml text={object.yaml} label="Live object" /> : <p class="muted">The live object cannot be shown.</p>}
          <Folded summary="Managed fields" text={object.managedFields} />
        </>
      )}
      {tab === "differences" && <Differences object={object} fields={differences} />}
    </>
  );
}

function Differences({ object, fields }: { object: ObjectView; fields: Parameters<typeof FieldDiff>[0]["fields"] }) {
  if (!object.differences) return <p class="muted">The desired object is not known, so the live one cannot be compared.</p>;
  if (!fields.length) return <p class="muted">The live object is as desired.</p>;
  return <FieldDiff fields={fields} words={["live", "desired"]} />;
}
