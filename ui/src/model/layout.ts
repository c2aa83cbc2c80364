/**
 * The layout of a dependency graph in levels, from left to right.
 *
 * A level holds what depends on the levels before it. An edge over several levels gets a bend in each level
 * between, so that it passes beside the boxes. Sweeps order each level by the barycentre of its neighbours; the order
 * with the fewest crossings wins. Boxes without edges stand in rows below. The same input gives the same picture.
 */

export interface GraphItem {
  id: string;
  dependsOn: readonly string[];
}

export interface Box {
  id: string;
  level: number;
  x: number;
  y: number;
}

export interface Edge {
  source: string;
  target: string;
  /** The path of an SVG element. */
  path: string;
}

export interface Layout {
  boxes: Box[];
  edges: Edge[];
  width: number;
  height: number;
  crossings: number;
}

export const BOX_WIDTH = 208;
export const BOX_HEIGHT = 48;
const COLUMN_GAP = 44;
const ROW_GAP = 16;
const BEND_HEIGHT = 8;
const MARGIN = 4;
const SWEEPS = 12;
/** Number of columns for boxes without edges. */
const LOOSE_COLUMNS = 3;

/** A place of a level: a box, or the bend of a long edge. */
interface Place {
  id: string;
  level: number;
  isBend: boolean;
  before: Place[];
  after: Place[];
  y: number;
}

/** Lay out the items. Dependencies on unknown ids are left out; of a cycle, one edge is. */
export function layout(items: readonly GraphItem[]): Layout {
  const levels = levelsOf(items);
  const { places, chains } = placesOf(items, levels);
  const columns = byLevel(places.filter((place) => !isLoose(place)));
  const crossings = reduceCrossings(columns);
  align(columns);
  const width = placeLoose(places.filter(isLoose), columns);
  const boxes = places.filter((place) => !place.isBend).map((place) => ({
    id: place.id,
    level: place.level,
    x: left(place.level),
    y: place.y,
  }));
  return {
    boxes,
    edges: chains.map((chain) => ({ source: chain[0]!.id, target: chain.at(-1)!.id, path: path(chain) })),
    width: width ? left(width - 1) + BOX_WIDTH + MARGIN : 0,
    height: Math.max(0, ...boxes.map((box) => box.y + BOX_HEIGHT)) + MARGIN,
    crossings,
  };
}

/** The longest path of dependencies below each item. */
export function levelsOf(items: readonly GraphItem[]): Map<string, number> {
  const byId = new Map(items.map((item) => [item.id, item]));
  const levels = new Map<string, number>();
  const open = new Set<string>();
  const visit = (item: GraphItem): number => {
    const known = levels.get(item.id);
    if (known !== undefined) return known;
    open.add(item.id);
    let level = 0;
    for (const id of item.dependsOn) {
      const dependency = byId.get(id);
      if (dependency && !open.has(id)) level = Math.max(level, visit(dependency) + 1);
    }
    open.delete(item.id);
    levels.set(item.id, level);
    return level;
  };
  items.forEach(visit);
  return levels;
}

function placesOf(items: readonly GraphItem[], levels: Map<string, number>): { places: Place[]; chains: Place[][] } {
  const places: Place[] = [];
  const add = (id: string, level: number, isBend: boolean): Place => {
    const place = { id, level, isBend, before: [], after: [], y: 0 };
    places.push(place);
    return place;
  };
  const boxes = new Map(items.map((item) => [item.id, add(item.id, levels.get(item.id) ?? 0, false)]));
  const chains: Place[][] = [];
  for (const item of items) {
    const target = boxes.get(item.id)!;
    for (const id of new Set(item.dependsOn)) {
      const source = boxes.get(id);
      if (!source || source.level >= target.level) continue;
      const chain = [source];
      for (let level = source.level + 1; level < target.level; level++) {
        chain.push(add(`${id} ${item.id} ${level}`, level, true));
      }
      chain.push(target);
      chain.slice(1).forEach((place, index) => {
        place.before.push(chain[index]!);
        chain[index]!.after.push(place);
      });
      chains.push(chain);
    }
  }
  return { places, chains };
}

function byLevel(places: readonly Place[]): Place[][] {
  const columns: Place[][] = [];
  for (const place of places) (columns[place.level] ??= []).push(place);
  return columns;
}

/** Order the levels so that few edges cross; return the number of crossings. */
function reduceCrossings(columns: Place[][]): number {
  let best = columns.map((column) => [...column]);
  let fewest = crossingsOf(columns);
  for (let sweep = 0; sweep < SWEEPS && fewest > 0; sweep++) {
    const isForward = sweep % 2 === 0;
    const order = isForward ? columns.keys() : [...columns.keys()].reverse();
    for (const index of order) sortByBarycentre(columns, index, isForward);
    const crossings = crossingsOf(columns);
    if (crossings < fewest) {
      fewest = crossings;
      best = columns.map((column) => [...column]);
    }
  }
  best.forEach((column, index) => (columns[index] = column));
  return fewest;
}

function sortByBarycentre(columns: Place[][], index: number, isForward: boolean): void {
  const neighbours = columns[isForward ? index - 1 : index + 1];
  if (!neighbours) return;
  const positions = new Map(neighbours.map((place, position) => [place, position]));
  const weights = new Map(
    columns[index]!.map((place, position) => {
      const adjacent = isForward ? place.before : place.after;
      return [place, adjacent.length ? mean(adjacent.map((each) => positions.get(each)!)) : position];
    }),
  );
  columns[index]!.sort((one, other) => weights.get(one)! - weights.get(other)!);
}

function crossingsOf(columns: readonly Place[][]): number {
  let crossings = 0;
  for (let index = 1; index < columns.length; index++) {
    const positions = new Map(columns[index - 1]!.map((place, position) => [place, position]));
    const sources = columns[index]!.map((place) => place.before.map((each) => positions.get(each)!));
    const passed: number[] = [];
    for (const group of sources) {
      for (const source of group) crossings += passed.filter((each) => each > source).length;
      passed.push(...group);
    }
  }
  return crossings;
}

/** Place each level beside its neighbours, first from the left, then from both sides. */
function align(columns: Place[][]): void {
  for (const column of columns) spread(column, column.map(() => 0));
  for (let pass = 0; pass < 6; pass++) {
    const order = pass % 2 === 0 ? columns : [...columns].reverse();
    for (const column of order) {
      spread(column, column.map((place) => {
        const adjacent = [...place.before, ...place.after];
        return adjacent.length ? mean(adjacent.map(middle)) - heightOf(place) / 2 : place.y;
      }));
    }
  }
  const top = Math.min(...columns.flat().map((place) => place.y));
  for (const place of columns.flat()) place.y = Math.round(place.y - top) + MARGIN;
}

/** Place boxes without edges in rows below the levels; return the number of columns. */
function placeLoose(loose: readonly Place[], columns: readonly Place[][]): number {
  const top = Math.max(MARGIN, ...columns.flat().map((place) => place.y + heightOf(place) + ROW_GAP));
  const width = Math.max(columns.length, LOOSE_COLUMNS);
  loose.forEach((place, index) => {
    place.level = index % width;
    place.y = top + Math.floor(index / width) * (BOX_HEIGHT + ROW_GAP);
  });
  return Math.max(columns.length, Math.min(loose.length, width));
}

/** Set the positions nearest to the wanted ones that keep order and distance (isotonic regression). */
function spread(column: Place[], wanted: readonly number[]): void {
  let offset = 0;
  const blocks: { sum: number; count: number }[] = [];
  const offsets: number[] = [];
  column.forEach((place, index) => {
    offsets.push(offset);
    blocks.push({ sum: wanted[index]! - offset, count: 1 });
    offset += heightOf(place) + ROW_GAP;
    while (blocks.length > 1) {
      const [previous, last] = [blocks.at(-2)!, blocks.at(-1)!];
      if (previous.sum / previous.count <= last.sum / last.count) break;
      blocks.splice(-2, 2, { sum: previous.sum + last.sum, count: previous.count + last.count });
    }
  });
  let index = 0;
  for (const block of blocks) {
    for (let member = 0; member < block.count; member++, index++) {
      column[index]!.y = block.sum / block.count + offsets[index]!;
    }
  }
}

function path(chain: readonly Place[]): string {
  let text = "";
  for (let index = 1; index < chain.length; index++) {
    const [source, target] = [chain[index - 1]!, chain[index]!];
    const startX = left(source.level) + BOX_WIDTH;
    const endX = left(target.level);
    const bend = (startX + endX) / 2;
    if (index === 1) text = `M${startX} ${middle(source)}`;
    text += ` C${bend} ${middle(source)} ${bend} ${middle(target)} ${endX} ${middle(target)}`;
    if (target.isBend) text += ` H${endX + BOX_WIDTH}`;
  }
  return text;
}

function isLoose(place: Place): boolean {
  return !place.before.length && !place.after.length;
}

function left(level: number): number {
  return MARGIN + level * (BOX_WIDTH + COLUMN_GAP);
}

function heightOf(place: Place): number {
  return place.isBend ? BEND_HEIGHT : BOX_HEIGHT;
}

function middle(place: Place): number {
  return place.y + heightOf(place) / 2;
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
}
