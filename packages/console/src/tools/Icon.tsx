import type { ToolSort } from "./ToolLine.js"

const paths: Readonly<Record<ToolSort, string>> = {
  command: "M3 4l4 4-4 4M8.5 12.5H13",
  edit: "M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3zM9 4.7l2.3 2.3",
  read: "M4 2.5h6l2.5 2.5v8.5H4zM6 7h4.5M6 10h4.5",
  search: "M7 3a4 4 0 1 1 0 8 4 4 0 0 1 0-8zM10 10l3.5 3.5",
  fetch: "M5.5 10.5L12 4M7 4h5v5M4 7v5.5h5.5",
  delegate: "M3 8h4M7 8l4-4h2.5M7 8l4 4h2.5",
  other: "M8 3.5v9M3.5 8h9"
}

/** The sort of a tool as a sign. */
export const Icon = ({ sort }: { readonly sort: ToolSort }) => (
  <svg class="tool-icon" viewBox="0 0 16 16" width="15" height="15" aria-hidden="true">
    <path d={paths[sort]} />
  </svg>
)
