import pg from "pg"
import type { PgColumns } from "./PgColumns.js"
import { PgMessages } from "./PgMessages.js"
import type { PgStatement, PgStatements } from "./PgStatements.js"

/** Is called once, with the first failure or with the rows of the last statement. */
type Answered<Row> = (error: unknown, rows: ReadonlyArray<Row>) => void

/**
 * Statements that are sent in one piece and answered in one piece. After a failure the server skips the others. Outside of a
 * transaction the batch is a transaction. The driver takes the batch as a query of its own kind, and hands it the messages of the server.
 */
export class PgBatch<Row extends object> implements pg.Submittable {
  private readonly rows: Array<Row> = []
  private columns: PgColumns | undefined
  private kept = new Map<string, PgColumns | undefined>()
  private done = 0
  private isAnswered = false
  private connection: pg.Connection | undefined

  constructor(
    private readonly statements: PgStatements,
    private readonly sent: ReadonlyArray<PgStatement>,
    private readonly answered: Answered<Row>
  ) {}

  /** Gives the driver the error that kept the batch from being sent. */
  readonly submit = (connection: pg.Connection): unknown => {
    this.kept = this.statements.keptBy(connection)
    this.connection = connection
    const messages = new PgMessages()
    try {
      for (const statement of this.sent) this.write(messages, statement)
    } catch (error) {
      return error
    }
    messages.sync()
    this.statements.sent(connection)
    this.columns = this.kept.get(this.sent[0]?.name ?? "")
    if (connection.stream.writable) connection.stream.write(messages.bytes())
    return undefined
  }

  handleRowDescription({ fields }: { readonly fields: ReadonlyArray<{ name: string; dataTypeID: number }> }): void {
    this.columns = fields.map(({ dataTypeID, name }) => ({ name, read: pg.types.getTypeParser(dataTypeID, "text") }))
  }

  handleDataRow({ fields }: { readonly fields: ReadonlyArray<string | null> }): void {
    // Boundary: the rows have the shape that the caller says the statement has.
    if (this.done === this.sent.length - 1 && this.columns !== undefined)
      this.rows.push(rowOf(this.columns, fields) as Row)
  }

  handleCommandComplete(): void {
    const name = this.sent[this.done]?.name
    if (name !== undefined) this.kept.set(name, this.columns)
    this.done++
    this.columns = this.kept.get(this.sent[this.done]?.name ?? "")
  }

  handleEmptyQuery(): void {
    this.handleCommandComplete()
  }

  handleError(error: unknown): void {
    this.answer(error)
  }

  handleReadyForQuery(): void {
    this.answer(undefined)
  }

  private answer(error: unknown): void {
    if (this.isAnswered) return
    this.isAnswered = true
    if (this.connection !== undefined) this.statements.answered(this.connection)
    this.answered(error, this.rows)
  }

  /** Prepares a statement anew when its batch failed before the server confirmed the preparation. */
  private write(messages: PgMessages, { name = "", text, values }: PgStatement): void {
    const isKept = this.kept.has(name)
    if (!isKept) {
      if (name !== "") messages.close(name)
      messages.parse(name, text)
    }
    messages.bind(name, values)
    if (!isKept) messages.describe()
    messages.execute()
  }
}

const rowOf = (columns: PgColumns, fields: ReadonlyArray<string | null>): object => {
  const row: Record<string, unknown> = {}
  columns.forEach(({ name, read }, index) => {
    const text = fields[index]
    row[name] = typeof text === "string" ? read(text) : null
  })
  return row
}
