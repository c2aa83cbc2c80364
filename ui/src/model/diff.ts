/** Compares two texts: by line, or within one line by its changed middle. */

export interface Part {
  type: "same" | "removed" | "added";
  text: string;
}

/** Number of lines up to which the smallest difference is searched; above it, all lines count as changed. */
const MAX_LINES = 500;

/** Return the parts of two single lines; the common start and end are the same. */
export function changedPart(before: string, after: string): { start: string; removed: string; added: string; end: string } {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start++;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end++;
  return {
    start: before.slice(0, start),
    removed: before.slice(start, before.length - end),
    added: after.slice(start, after.length - end),
    end: before.slice(before.length - end),
  };
}

/** Return the lines of both texts in order, with the smallest number of changed ones. */
export function lineDiff(before: string, after: string): Part[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  if (old.length > MAX_LINES || fresh.length > MAX_LINES) {
    return [...old.map(asPart("removed")), ...fresh.map(asPart("added"))];
  }
  const lengths = commonLengths(old, fresh);
  const parts: Part[] = [];
  let [one, other] = [0, 0];
  while (one < old.length || other < fresh.length) {
    if (one < old.length && other < fresh.length && old[one] === fresh[other]) {
      parts.push({ type: "same", text: old[one]! });
      one++;
      other++;
    } else if (other >= fresh.length || (one < old.length && lengths[one + 1]![other]! >= lengths[one]![other + 1]!)) {
      parts.push({ type: "removed", text: old[one++]! });
    } else {
      parts.push({ type: "added", text: fresh[other++]! });
    }
  }
  return parts;
}

/** Fold runs of equal lines that are farther than `around` from a change; the number stands for the folded lines. */
export function folded(parts: readonly Part[], around = 2): (Part | number)[] {
  const isNear = parts.map((_, index) =>
    parts.slice(Math.max(0, index - around), index + around + 1).some((part) => part.type !== "same"),
  );
  const result: (Part | number)[] = [];
  parts.forEach((part, index) => {
    if (isNear[index]) result.push(part);
    else if (typeof result.at(-1) === "number") result[result.length - 1] = (result.at(-1) as number) + 1;
    else result.push(1);
  });
  return result;
}

function asPart(type: Part["type"]): (text: string) => Part {
  return (text) => ({ type, text });
}

/** The length of the longest common subsequence of both remainders, by their starts. */
function commonLengths(old: readonly string[], fresh: readonly string[]): Uint16Array[] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(fresh.length + 1));
  for (let one = old.length - 1; one >= 0; one--) {
    for (let other = fresh.length - 1; other >= 0; other--) {
      lengths[one]![other] = old[one] === fresh[other]
        ? lengths[one + 1]![other + 1]! + 1
        : Math.max(lengths[one + 1]![other]!, lengths[one]![other + 1]!);
    }
  }
  return lengths;
}
