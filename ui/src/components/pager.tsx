// The page of a long list that the browser holds.
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
