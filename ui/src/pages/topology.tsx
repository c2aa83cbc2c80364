// Hubs, forms, nodes and resources as a picture of at most 300 shapes, or as a table.
import { useEffect, useState } from "preact/hooks";
import { urls } from "../api";
import type { Shape, TopologyView } from "../api-types";
import { Button, Cut, Denials, Empty, Loaded, Page, Toolbar } from "../components/base";
import { Paged } from "../components/pager";
import { State, ToneShape, toneOf } from "../components/state";
import { type Column, Table } from "../components/table";
import { BOX_HEIGHT, BOX_WIDTH, place, type PlacedShape } from "../components/topology-layout";
import { formatted } from "../components/totals";
import { useData } from "../data";
import { address, namespace, navigate, pathOf, setQuery } from "../router";

const PAUSE_AFTER_KEY = 200;
const LONGEST_NAME = 24;
const ROWS_PER_PAGE = 100;
const NARROW = "(max-width: 720px)";

/** Where a shape leads: a group to its members, a node to its resources, then an object to its page. */
function targetOf(shape: Shape): string {
  const isOpen = address.value.query.get("focus") === shape.id;
  if (shape.count > 1 || (shape.type === "Node" && !isOpen)) {
    const query = new URLSearchParams(address.value.query);
    query.set("focus", shape.id);
    return `/topology?${query.toString()}`;
  }
  const { type, namespace: space, name, uid } = shape;
  if (type === "Hub" || type === "Form" || type === "Node") return pathOf({ kind: type, namespace: space, name, uid });
  return uid ? pathOf({ kind: "Node", namespace: space, name, uid }) : "";
}

const shortened = (text: string, length = LONGEST_NAME): string =>
  text.length > length ? `${text.slice(0, length - 1)}…` : text;

const describe = (shape: Shape): string =>
  [
    `${shape.type} ${shape.name}`,
    shape.namespace && `in ${shape.namespace}`,
    shape.count > 1 ? `${shape.count} objects, ${shape.problems} not ready` : shape.state,
  ]
    .filter(Boolean)
    .join(", ");

function Box({ placed }: { placed: PlacedShape }) {
  const { shape, x, y } = placed;
  const tone = toneOf(shape.state);
  const target = targetOf(shape);
  const name = shape.count > 1 ? LONGEST_NAME - 9 : LONGEST_NAME;
  const content = (
    <>
      <title>{describe(shape)}</title>
      {shape.count > 1 && <rect class="box box-behind" x="4" y="4" width={BOX_WIDTH} height={BOX_HEIGHT} rx="8" />}
      <rect class="box" width={BOX_WIDTH} height={BOX_HEIGHT} rx="8" />
      <g class={`tone-${tone}`} fill="currentColor" transform="translate(12 12)">
        <ToneShape tone={tone} />
      </g>
      <text x="34" y="22.5">
        {shortened(shape.name, name)}
      </text>
      {shape.count > 1 && (
        <text class={shape.problems ? "box-count tone-failed" : "box-count"} x={BOX_WIDTH - 12} y="22.5" text-anchor="end">
          {shape.problems ? `${formatted(shape.problems)} of ${formatted(shape.count)}` : `× ${formatted(shape.count)}`}
        </text>
      )}
    </>
  );
  const className = `shape shape-${shape.type.toLowerCase()}${shape.problems || tone === "failed" || tone === "warn" ? ` shape-${tone}` : ""}`;
  return (
    <g transform={`translate(${x} ${y})`} class={className}>
      {target ? (
        <a href={target} aria-label={describe(shape)} data-item>
          {content}
        </a>
      ) : (
        <g role="img" aria-label={describe(shape)}>{content}</g>
      )}
    </g>
  );
}

function Graph({ view }: { view: TopologyView }) {
  const { shapes, edges, columns, width, height } = place(view.shapes, view.edges);
  return (
    <div class="panel topology" role="group" aria-label="Topology" tabIndex={0}>
      <svg viewBox={`0 0 ${width} ${height}`} width={width} height={height}>
        {columns.map((column) => (
          <text key={column.title} class="axis" x={column.x + 2} y="24">
            {column.title}
          </text>
        ))}
        {edges.map((edge) => (
          <path key={edge.id} class={`edge${edge.isProblem ? " edge-problem" : ""}`} d={edge.path} />
        ))}
        {shapes.map((placed) => (
          <Box key={placed.shape.id} placed={placed} />
        ))}
      </svg>
    </div>
  );
}

const COLUMNS: readonly Column<Shape>[] = [
  { id: "type", title: "Type", width: "112px", cell: (shape) => shape.type },
  {
    id: "name",
    title: "Name",
    cell: (shape) => {
      const target = targetOf(shape);
      return target ? (
        <a href={target} data-item class="cut" title={shape.name}>
          {shape.name}
        </a>
      ) : (
        <Cut text={shape.name} />
      );
    },
  },
  { id: "namespace", title: "Namespace", width: "20%", cell: (shape) => <Cut text={shape.namespace} /> },
  { id: "state", title: "State", width: "136px", cell: (shape) => <State state={shape.state} /> },
  { id: "count", title: "Objects", width: "88px", align: "right", cell: (shape) => formatted(shape.count) },
  {
    id: "problems",
    title: "Not ready",
    width: "88px",
    align: "right",
    cell: (shape) => <span class={shape.problems ? "tone-failed" : "muted"}>{formatted(shape.problems)}</span>,
  },
];

export function TopologyPage() {
  const query = address.value.query;
  const q = query.get("q") ?? "";
  const problems = query.get("problems") === "true";
  const focus = query.get("focus") ?? "";
  const view = query.get("view") ?? (window.matchMedia(NARROW).matches ? "table" : "graph");
  const [text, setText] = useState(q);
  useEffect(() => setText(q), [q]);
  useEffect(() => {
    if (text === q) return undefined;
    const timer = setTimeout(() => setQuery({ q: text.trim() }), PAUSE_AFTER_KEY);
    return () => clearTimeout(timer);
  }, [text]);
  const topology = useData(urls.topology({ namespace: namespace.value, q, problems, focus }));
  const orphans = topology.data?.shapes.filter((shape) => shape.type === "Orphan") ?? [];
  const count = orphans.reduce((sum, shape) => sum + shape.count, 0);
  return (
    <Page title="Topology" subtitle="From hubs over forms and nodes to resources. A group opens into its members, a node into its resources.">
      <Toolbar label="View of the topology">
        <input
          type="search"
          class="field filter-field"
          aria-label="Search in the topology"
          placeholder="Name of a hub, form, tenant or resource"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <Button pressed={problems} onClick={() => setQuery({ problems: problems ? "" : "true" })}>
          Problems only
        </Button>
        <span class="segments" role="group" aria-label="Form of the view">
          <Button pressed={view === "graph"} onClick={() => setQuery({ view: "graph" })}>
            Graph
          </Button>
          <Button pressed={view === "table"} onClick={() => setQuery({ view: "table" })}>
            Table
          </Button>
        </span>
        {focus && (
          <Button kind="plain" onClick={() => setQuery({ focus: "" }, { replace: false })}>
            ← Whole topology
          </Button>
        )}
      </Toolbar>
      <Loaded from={topology}>
        {(data) => (
          <>
            <Denials denials={data.denials} />
            {count > 0 && (
              <p class="notice notice-warn">
                {formatted(count)} {count === 1 ? "resource is an orphan: its" : "resources are orphans: their"} node is
                gone, and the deletion policy retained {count === 1 ? "it" : "them"}.
              </p>
            )}
            {!data.shapes.length ? (
              <div class="panel">
                <Empty title={problems && !q ? "No problems" : q ? "Nothing matches" : "Nothing to draw"}>
                  {problems || q || focus ? (
                    <Button kind="plain" onClick={() => navigate("/topology")}>
                      Show the whole topology
                    </Button>
                  ) : (
                    "Create a LynqHub and a LynqForm. They appear here by themselves."
                  )}
                </Empty>
              </div>
            ) : view === "graph" ? (
              <Graph view={data} />
            ) : (
              <div class="panel">
                <Paged items={data.shapes} size={ROWS_PER_PAGE} what="entries">
                  {(shapes) => (
                    <Table
                      caption={`Topology, ${data.shapes.length} entries`}
                      hideCaption
                      columns={COLUMNS}
                      rows={shapes}
                      rowKey={(shape) => shape.id}
                    />
                  )}
                </Paged>
              </div>
            )}
          </>
        )}
      </Loaded>
    </Page>
  );
}
