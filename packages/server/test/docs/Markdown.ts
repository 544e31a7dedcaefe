/** Says to whoever opens a page that it is not written by hand. */
export const made = (from: string): string =>
  `<!-- This page is made by \`npm run docs\` from ${from}. Change it there. -->\n\n`

/** A table of Markdown. A bar in a cell would end it. */
export const table = (head: ReadonlyArray<string>, rows: ReadonlyArray<ReadonlyArray<string>>): string =>
  [head, head.map(() => "---"), ...rows]
    .map((row) => `| ${row.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |\n`)
    .join("")
