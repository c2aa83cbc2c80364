// The page of a long list that the browser holds.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { Button } from "./base";

interface Props {
  /** Counted from 0. */
  page: number;
  size: number;
  total: number;
  what: string;
  onPage: (page: number) => void;
}

export function Pager({ page, size, total, what, onPage }: Props) {
  if (total <= size) return null;
  const first = page * size + 1;
  const last = Math.min(total, first + size - 1);
  return (
    <nav class="local-pager" aria-label={`Pages of ${what}`}>
      <Button disabled={page === 0} onClick={() => onPage(page - 1)}>Previous</Button>
      <span>{first}–{last} of {total} {what}</span>
      <Button disabled={last === total} onClick={() => onPage(page + 1)}>Next</Button>
    </nav>
  );
}

/** A part of a long list at a time, so that the document stays small. */
export function Paged<T>(props: {
  items: readonly T[];
  size: number;
  what: string;
  children: (shown: readonly T[]) => ComponentChildren;
}) {
  const { items, size, what } = props;
  const [wanted, setWanted] = useState(0);
  // The list may have become shorter.
  const page = Math.min(wanted, Math.max(0, Math.ceil(items.length / size) - 1));
  const show = (next: number): void => {
    setWanted(next);
    window.scrollTo(0, 0);
  };
  return (
    <>
      {props.children(items.slice(page * size, (page + 1) * size))}
      <Pager page={page} size={size} total={items.length} what={what} onPage={show} />
    </>
  );
}
