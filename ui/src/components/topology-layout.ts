// Places the shapes of the topology: a column for each level, parents beside their children.
import type { Shape, ShapeEdge } from "../api-types";
import { toneOf } from "./state";

export const BOX_WIDTH = 224;
export const BOX_HEIGHT = 36;
const ROW = 44;
const COLUMN = 304;
const MARGIN = 12;
const TOP = 40;

const LEVELS: Readonly<Record<Shape["type"], number>> = { Hub: 0, Form: 1, Node: 2, Resource: 3, Orphan: 3 };
export const LEVEL_TITLES = ["Hubs", "Forms", "Nodes", "Resources"] as const;

const isWrong = (shape: Shape): boolean => ["failed", "warn"].includes(toneOf(shape.state));

export interface PlacedShape {
  readonly shape: Shape;
  readonly x: number;
  readonly y: number;
}
export interface PlacedEdge {
  readonly id: string;
  readonly path: string;
  readonly isProblem: boolean;
}
export interface Placement {
  readonly shapes: readonly PlacedShape[];
  readonly edges: readonly PlacedEdge[];
  /** The x of each level that has shapes. */
  readonly columns: readonly { readonly title: string; readonly x: number }[];
  readonly width: number;
  readonly height: number;
}

export function place(shapes: readonly Shape[], edges: readonly ShapeEdge[]): Placement {
  const byId = new Map(shapes.map((shape) => [shape.id, shape]));
  const children = new Map<string, Shape[]>();
  const parents = new Map<string, string>();
  for (const { source, target } of edges) {
    const child = byId.get(target);
    if (!child || !byId.has(source) || parents.has(target)) continue;
    parents.set(target, source);
    children.set(source, [...(children.get(source) ?? []), child]);
  }
  const used = [...new Set(shapes.map((shape) => LEVELS[shape.type]))].sort();
  const columnOf = new Map(used.map((level, index) => [level, MARGIN + index * COLUMN]));
  const positions = new Map<string, PlacedShape>();
  let row = 0;
  const hasProblem = (shape: Shape): boolean => shape.problems > 0 || isWrong(shape);
  const problemsFirst = (list: readonly Shape[]): readonly Shape[] => [
    ...list.filter(hasProblem),
    ...list.filter((shape) => !hasProblem(shape)),
  ];
  // A parent stands beside its first child, so that the top of a long picture shows all levels.
  const visit = (shape: Shape): void => {
    const y = TOP + row * ROW;
    positions.set(shape.id, { shape, x: columnOf.get(LEVELS[shape.type]) ?? MARGIN, y });
    const below = problemsFirst(children.get(shape.id) ?? []);
    below.forEach(visit);
    if (!below.length) row += 1;
  };
  problemsFirst(shapes.filter((shape) => !parents.has(shape.id))).forEach(visit);
  const placed = shapes.flatMap((shape) => positions.get(shape.id) ?? []);
  const lines = edges.flatMap(({ source, target }) => {
    const from = positions.get(source);
    const to = positions.get(target);
    return from && to ? [{ id: `${source} ${target}`, path: elbow(from, to), isProblem: hasProblem(to.shape) }] : [];
  });
  return {
    shapes: placed,
    // The lines to problems lie above the others.
    edges: [...lines.filter((line) => !line.isProblem), ...lines.filter((line) => line.isProblem)],
    columns: used.map((level) => ({ title: LEVEL_TITLES[level] ?? "", x: columnOf.get(level) ?? MARGIN })),
    width: MARGIN * 2 + (used.length - 1) * COLUMN + BOX_WIDTH,
    height: TOP + row * ROW + MARGIN,
  };
}

function elbow(from: PlacedShape, to: PlacedShape): string {
  const x1 = from.x + BOX_WIDTH;
  const y1 = from.y + BOX_HEIGHT / 2;
  const y2 = to.y + BOX_HEIGHT / 2;
  const middle = (x1 + to.x) / 2;
  return `M${x1} ${y1}H${middle}V${y2}H${to.x}`;
}
