import { PreparedQuery, type PreparedText } from "./Query.js"
import type { SqliteConnection } from "./SqliteConnection.js"

/** The number of answers that are kept. */
const maxKept = 1000

/** A longer text of an answer would make what is kept large. */
const maxTextLength = 16_384

const isSmall = (row: object): boolean =>
  Object.values(row).every((value) => typeof value !== "string" || value.length <= maxTextLength)

/**
 * Reads what is committed. All reads of one turn of the event loop see one state of the database, so that only one of them takes locks. `end`
 * makes the next read see later commits. Small answers of prepared statements with at most one row are kept until some process commits.
 */
export class SnapshotReader {
  private turn: NodeJS.Immediate | undefined
  private version: unknown
  private kept = new Map<PreparedText, Map<string, ReadonlyArray<object>>>()
  private keptCount = 0

  constructor(private readonly connection: SqliteConnection) {}

  all(query: PreparedQuery<object>): ReadonlyArray<object>
  all(text: string, parameters: ReadonlyArray<unknown>): ReadonlyArray<object>
  all(query: PreparedQuery<object> | string, parameters: ReadonlyArray<unknown> = []): ReadonlyArray<object> {
    this.begin()
    return query instanceof PreparedQuery ? this.answer(query) : this.connection.all(query, parameters)
  }

  /** Ends the snapshot, if there is one. */
  readonly end = (): void => {
    clearImmediate(this.turn)
    this.turn = undefined
    if (this.connection.isInTransaction) this.connection.all("commit")
  }

  private begin(): void {
    if (this.turn !== undefined) return
    this.turn = setImmediate(this.end)
    try {
      this.connection.all("begin")
      this.lookForCommits()
    } catch (failure) {
      this.end()
      throw failure
    }
  }

  /** Takes the snapshot, as the first statement of a transaction does. The number changes with each commit of another connection. */
  private lookForCommits(): void {
    const [row] = this.connection.all("pragma data_version")
    const version = row !== undefined && "data_version" in row ? row.data_version : undefined
    if (version !== this.version) this.forget()
    this.version = version
  }

  private answer({ parameters, prepared }: PreparedQuery<object>): ReadonlyArray<object> {
    const key = keyOf(parameters)
    const known = this.kept.get(prepared)?.get(key)
    if (known !== undefined) return known
    const rows = this.connection.all(prepared.text, parameters)
    if (rows.length <= 1 && rows.every(isSmall)) this.keep(prepared, key, rows)
    return rows
  }

  private keep(prepared: PreparedText, key: string, rows: ReadonlyArray<object>): void {
    if (this.keptCount >= maxKept) this.forget()
    const answers = this.kept.get(prepared) ?? new Map<string, ReadonlyArray<object>>()
    // The row is shared: a reader that changed it would change the answer of others.
    rows.forEach(Object.freeze)
    this.kept.set(prepared, answers.set(key, Object.freeze(rows)))
    this.keptCount++
  }

  private forget(): void {
    this.kept.clear()
    this.keptCount = 0
  }
}

/** A different text for each list of values. Each value comes with its length, because it may hold any separator. */
const keyOf = (parameters: ReadonlyArray<unknown>): string => {
  let key = ""
  for (const parameter of parameters) {
    const text = parameter instanceof Uint8Array ? Buffer.from(parameter).toString("hex") : String(parameter)
    key += `${typeof parameter} ${text.length} ${text}`
  }
  return key
}
