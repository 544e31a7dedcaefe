import { readFileSync } from "node:fs"

/** The specification, as it was given. */
const text = readFileSync(new URL("../spec/unified-business-api.md", import.meta.url), "utf8")

export interface ListedParameter {
  readonly name: string
  /** As the specification writes it, as in `integer or null`. */
  readonly type: string
  readonly required: boolean
  readonly default: string
}

export interface ListedOperation {
  /** Method and path. */
  readonly name: string
  readonly status: string
  readonly hasBody: boolean
  readonly lists422: boolean
}

export type Row = Readonly<Record<string, string>>

const cellsOf = (line: string): ReadonlyArray<string> =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim())

/** Every table of a part of the text, each row by the names of its columns. */
const tablesOf = (part: string): ReadonlyArray<ReadonlyArray<Row>> => {
  const tables: Array<Array<Row>> = []
  let columns: ReadonlyArray<string> | undefined
  for (const line of part.split("\n")) {
    if (!line.startsWith("|")) columns = undefined
    else if (columns === undefined) {
      columns = cellsOf(line)
      tables.push([])
    } else if (!/^\|[-|\s]+\|$/.test(line)) {
      const cells = cellsOf(line)
      tables.at(-1)?.push(Object.fromEntries(columns.map((column, index) => [column, cells[index] ?? ""])))
    }
  }
  return tables
}

const rowsWith = (column: string): ReadonlyArray<Row> =>
  tablesOf(text).flatMap((table) => (table[0] !== undefined && column in table[0] ? table : []))

/** The first table after a line that begins so. */
const tableAfter = (start: string): ReadonlyArray<Row> => {
  const at = text.indexOf(`\n${start}`)
  const [table] = at === -1 ? [] : tablesOf(text.slice(at + 1))
  if (table === undefined) throw new Error(`the specification has no table after "${start}"`)
  return table
}

const cell = (row: Row, column: string): string => row[column] ?? ""

export const listed: ReadonlyArray<ListedOperation> = rowsWith("Method").map((row) => {
  const [status = "", ...body] = cell(row, "Success").split(" ")
  return {
    name: `${cell(row, "Method")} ${cell(row, "Path")}`,
    status,
    hasBody: body.join(" ") !== "no body",
    lists422: cell(row, "Other") === "422"
  }
})

const parameterOf = (row: Row, name: string): ListedParameter => ({
  name,
  type: cell(row, "Type"),
  required: cell(row, "Required") === "yes",
  default: cell(row, "Default")
})

/** The query parameters that are listed for an operation. */
export const queryOf = (name: string): ReadonlyArray<ListedParameter> => parametersByOperation.get(name) ?? []

const parametersByOperation = new Map<string, ReadonlyArray<ListedParameter>>([
  [
    "GET /api/models",
    tableAfter("Query parameters of GET /api/models").map((row) => parameterOf(row, cell(row, "Name")))
  ],
  [
    "GET /api/sessions/{session_id}/events",
    tableAfter("GET /api/sessions/{session_id}/events reads").map((row) =>
      parameterOf(row, cell(row, "Query parameter"))
    )
  ],
  ...tableAfter("File query parameters").map((row): [string, ReadonlyArray<ListedParameter>] => [
    cell(row, "Endpoint").replace("...", "/api/sessions/{session_id}"),
    [parameterOf(row, cell(row, "Name"))]
  ]),
  // It stands in a sentence: "Query parameter of the last: `path`, optional, string or null."
  [
    "GET /api/changesets/{changeset_id}/files",
    [...text.matchAll(/Query parameter of the last: `(\w+)`, optional, ([\w ]+)\./g)].map(
      ([, name = "", type = ""]) => ({
        name,
        type,
        required: false,
        default: "none"
      })
    )
  ]
])

/** Fields of a shape that the specification defines, by the name of their field. */
export const fieldsOf = (shape: string): ReadonlyArray<Row> => tableAfter(`**${shape}**`)

export const providers = tableAfter("Harness support is declared")

export const capabilities = tableAfter("3. Capabilities of provider alpha")

export const pathIds = tableAfter("Resources named by the interface").flatMap((row) => {
  const id = cell(row, "Path id parameter")
  return /^\w+$/.test(id) ? [id] : []
})

export const limits = tableAfter("## 8. Limits")

/** The value that a sentence gives, by a pattern with one group. */
export const sentence = (pattern: RegExp): string => {
  const found = pattern.exec(text)?.[1]
  if (found === undefined) throw new Error(`the specification does not say ${pattern}`)
  return found
}
