import stringWidth from "string-width"
import { harmlessLine } from "./Style.js"

/** A table with its columns aligned by what a terminal shows; the last one is not padded. */
export const table = (given: ReadonlyArray<ReadonlyArray<string>>): string => {
  const rows = given.map((row) => row.map(harmlessLine).map((text) => ({ text, width: stringWidth(text) })))
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.width ?? 0)))
  const line = (row: (typeof rows)[number]) =>
    row.map(({ text, width }, column) => text + " ".repeat(Math.max(0, (widths[column] ?? 0) - width))).join("  ")
  return rows.map((row) => `${line(row).trimEnd()}\n`).join("")
}
