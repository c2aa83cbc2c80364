// Resources as a dependency graph in levels, and as a list: for the phone, and for those who prefer it.
import { useMemo, useRef, useState } from "preact/hooks";
import type { ResourceView } from "../api-types";
import { grouped, related, type Group } from "../model/grouping";
import { BOX_HEIGHT, BOX_WIDTH, layout, type Box } from "../model/layout";
import { Button } from "./base";
import { State } from "./state";
import { Tag } from "./tag";

interface Props {
  resources: readonly ResourceView[];
  /** The id of the chosen resource; empty if none is chosen. */
  selected: string;
  onSelect: (id: string) => void;
  /** What the resources belong to. */
  label: string;
}

type ResourceGroup = Group<ResourceView>;

/** Number of resources that a list shows at first; those that are not ready are among them. */
const LISTED = 30;

const isWaiting = (group: ResourceGroup): boolean =>
  group.members.some(({ state }) => state === "Waiting" || state === "Skipped");

export function Resources(props: Props) {
  const [view, setView] = useState<"graph" | "list">("graph");
  const groups = useMemo(() => grouped(props.resources), [props.resources]);
  if (!props.resources.length) return <p class="muted">No resources.</p>;
  const hasEdges = props.resources.some((resource) => resource.dependsOn.length);
  return (
    <div class={`resources resources-${view}`}>
      <div class="resources-bar">
        <span class="muted">
          {props.resources.length === 1 ? "1 resource" : `${props.resources.length} resources`}
          {groups.length < props.resources.length && `, in ${groups.length} groups`}
          {!hasEdges && props.resources.length > 1 && ", none depends on another"}
        </span>
        <span class="view-choice" role="group" aria-label="Show the resources as">
          {(["graph", "list"] as const).map((each) => (
            <button type="button" class="segment" aria-pressed={view === each} onClick={() => setView(each)}>
              {each === "graph" ? "Graph" : "List"}
            </button>
          ))}
        </span>
      </div>
      <Graph {...props} groups={groups} />
      <ResourceList {...props} />
    </div>
  );
}

function Graph({ groups, resources, selected, onSelect, label }: Props & { groups: readonly ResourceGroup[] }) {
  const shape = groups.map((group) => `${group.id} ${group.dependsOn.join(" ")}`).join("\n");
  const picture = useMemo(() => layout(groups), [shape]);
  const [opened, setOpened] = useState("");
  const element = useRef<SVGSVGElement>(null);
  const byId = new Map(groups.map((group) => [group.id, group]));
  const chosen = groups.find((group) => group.members.some(({ id }) => id === selected))?.id ?? "";
  const lit = chosen ? related(groups, chosen) : null;
  const first = chosen || picture.boxes[0]?.id;
  const group = byId.get(opened);

  const choose = (target: ResourceGroup): void => {
    if (target.members.length === 1) onSelect(target.members[0]!.id);
    else setOpened(opened === target.id ? "" : target.id);
  };
  const move = (event: KeyboardEvent, from: Box): void => {
    const next = neighbour(picture.boxes, from, event.key);
    if (!next) return;
    event.preventDefault();
    element.current?.querySelector<HTMLElement>(`[data-box="${CSS.escape(next.id)}"]`)?.focus();
  };
  return (
    <div class="graph" role="region" aria-label={`Dependency graph of ${label}`}>
      <svg ref={element} width={picture.width} height={picture.height} role="group" aria-label={`${resources.length} resources; the arrow keys move between them`}>
        <g class="graph-edges" aria-hidden="true">
          {picture.edges.map((edge) => {
            const isLit = lit?.has(edge.source) && lit.has(edge.target);
            const classes = [isLit ? "lit" : lit ? "dim" : "", isWaiting(byId.get(edge.target)!) ? "waiting" : ""];
            return <path key={`${edge.source} ${edge.target}`} d={edge.path} class={classes.join(" ")} />;
          })}
        </g>
        {picture.boxes.map((box) => {
          const target = byId.get(box.id)!;
          return (
            <foreignObject key={box.id} x={box.x} y={box.y} width={BOX_WIDTH} height={BOX_HEIGHT}>
              <button
                type="button"
                data-box={box.id}
                tabIndex={box.id === first ? 0 : -1}
                class={`graph-box state-${stateOf(target)} ${lit && !lit.has(box.id) ? "dim" : ""} ${target.members.length > 1 ? "stack" : ""}`}
                aria-pressed={target.members.length === 1 ? box.id === chosen : undefined}
                aria-expanded={target.members.length > 1 ? box.id === opened : undefined}
                title={titleOf(target)}
                onClick={() => choose(target)}
                onKeyDown={(event) => move(event, box)}
              >
                <BoxText group={target} />
              </button>
            </foreignObject>
          );
        })}
      </svg>
      {group && (
        <div class="graph-members">
          <div class="graph-members-head">
            <strong>{group.members.length} × {group.kind}</strong>
            <Button onClick={() => setOpened("")}>Close the group</Button>
          </div>
          <ResourceList resources={group.members} selected={selected} onSelect={onSelect} label={group.kind} />
        </div>
      )}
    </div>
  );
}

function BoxText({ group }: { group: ResourceGroup }) {
  const [resource] = group.members;
  const state = stateOf(group);
  return (
    <>
      <span class="graph-name">
        {state !== "None" && <State state={state} compact />}
        <span class="cut">{group.members.length > 1 ? `${group.members.length} × ${group.kind}` : resource!.id}</span>
      </span>
      <span class="graph-kind cut">
        {group.members.length > 1 ? (state === "None" ? "group" : state) : whatOf(resource!)}
      </span>
    </>
  );
}

function ResourceList({ resources, selected, onSelect, label }: Props) {
  const [isWhole, setWhole] = useState(false);
  const isLong = resources.length > LISTED && !isWhole;
  const rank = (resource: ResourceView): number => (isLong && resource.state === "Ready" ? 1 : 0);
  const ordered = [...resources]
    .sort((one, other) => rank(one) - rank(other) || one.level - other.level)
    .slice(0, isLong ? LISTED : undefined);
  const hasState = resources.some((resource) => resource.state);
  return (
    <ul class="resource-list" aria-label={`Resources of ${label}`}>
      {ordered.map((resource) => (
        <li key={resource.id}>
          <button type="button" class="resource-item" aria-pressed={resource.id === selected} onClick={() => onSelect(resource.id)}>
            {hasState && <span class="resource-state">{resource.state && <State state={resource.state} />}</span>}
            <span class="resource-what">
              <strong class="cut" title={resource.id}>{resource.id}</strong>
              <span class="muted cut" title={`${resource.kind} ${placeOf(resource)}`}>
                {resource.kind} {placeOf(resource)}
              </span>
            </span>
            <span class="resource-why">
              {resource.message || (resource.reason === resource.state ? "" : resource.reason)}
              {resource.dependsOn.length > 0 && <span class="muted"> after {resource.dependsOn.join(", ")}</span>}
            </span>
            <Policies policies={resource.policies} />
          </button>
        </li>
      ))}
      {isLong && <li class="resource-more"><Button onClick={() => setWhole(true)}>Show all {resources.length}</Button></li>}
    </ul>
  );
}

export function Policies({ policies }: { policies: Readonly<Record<string, string>> }) {
  const entries = Object.entries(policies);
  if (!entries.length) return null;
  return (
    <span class="policies">
      {entries.map(([name, value]) => <Tag key={name}>{name}: {value}</Tag>)}
    </span>
  );
}

export function placeOf(resource: Pick<ResourceView, "namespace" | "name">): string {
  return resource.namespace ? `${resource.namespace}/${resource.name}` : resource.name;
}

function stateOf(group: ResourceGroup) {
  return group.members[0]!.state ?? "None";
}

function whatOf(resource: ResourceView): string {
  const isBad = resource.state === "Failed" || resource.state === "Conflicted";
  if (isBad && (resource.reason || resource.message)) return resource.reason || resource.message;
  return resource.name && resource.state ? `${resource.kind} ${resource.name}` : resource.kind;
}

function titleOf({ members, kind }: ResourceGroup): string {
  if (members.length > 1) return `${members.length} × ${kind}`;
  const resource = members[0]!;
  const state = resource.state ? `: ${resource.state}` : "";
  const why = resource.message || resource.reason;
  return `${resource.id}, ${resource.kind} ${placeOf(resource)}${state}${why ? `, ${why}` : ""}`;
}

function neighbour(boxes: readonly Box[], from: Box, key: string): Box | undefined {
  const distance = (box: Box): number => Math.abs(box.y - from.y);
  const nearest = (candidates: Box[]): Box | undefined =>
    candidates.sort((one, other) => distance(one) - distance(other))[0];
  const column = boxes.filter((box) => box.level === from.level);
  switch (key) {
    case "ArrowLeft":
      return nearest(boxes.filter((box) => box.level === from.level - 1));
    case "ArrowRight":
      return nearest(boxes.filter((box) => box.level === from.level + 1));
    case "ArrowUp":
      return nearest(column.filter((box) => box.y < from.y));
    case "ArrowDown":
      return nearest(column.filter((box) => box.y > from.y));
    default:
      return undefined;
  }
}
