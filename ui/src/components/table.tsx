// A real table with a caption; cards on a phone. The link of a row carries `data-item` for j and k.
import type { ComponentChildren } from "preact";

export interface Column<T> {
  readonly id: string;
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  readonly align?: "right";
  /** A CSS width; the columns without one divide the rest. */
  readonly width?: string;
  /** The name of the server's sort order. */
  readonly sort?: string;
}

export function Table<T>(props: {
  caption: string;
  /** The caption is visible only to screen readers. */
  hideCaption?: boolean;
  columns: readonly Column<T>[];
  rows: readonly T[];
  rowKey: (row: T) => string;
  /** The order now, `-` first if it descends. */
  sort?: string;
  onSort?: (sort: string) => void;
}) {
  const { columns, sort, onSort } = props;
  const direction = (column: Column<T>): "ascending" | "descending" | undefined =>
    column.sort && sort === column.sort
      ? "ascending"
      : column.sort && sort === `-${column.sort}`
        ? "descending"
        : undefined;
  return (
    <table class="table">
      <caption class={props.hideCaption ? "visually-hidden" : undefined}>{props.caption}</caption>
      <thead>
        <tr>
          {columns.map((column) => (
            <th
              key={column.id}
              scope="col"
              style={column.width ? { width: column.width } : undefined}
              class={column.align === "right" ? "right" : undefined}
              aria-sort={direction(column)}
            >
              {column.sort && onSort ? (
                <button
                  type="button"
                  class="sort"
                  onClick={() => onSort(sort === column.sort ? `-${column.sort}` : (column.sort ?? ""))}
                >
                  {column.title}
                  <span aria-hidden="true">
                    {direction(column) === "ascending" ? "↑" : direction(column) === "descending" ? "↓" : ""}
                  </span>
                </button>
              ) : (
                column.title
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {props.rows.map((row) => (
          <tr key={props.rowKey(row)}>
            {columns.map((column) => (
              <td
                key={column.id}
                data-label={column.title}
                class={`cell-${column.id}${column.align === "right" ? " right" : ""}`}
              >
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
