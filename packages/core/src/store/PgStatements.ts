import { createHash } from "node:crypto"
import { SqlError } from "@effect/sql"
import type pg from "pg"
import { failedStatementOf } from "./FailedStatement.js"
import type { PgColumns } from "./PgBatch.js"
import { PreparedQuery, type PreparedText, type Query } from "./Query.js"

/** A statement as it is sent. It has a name when the server keeps it. */
export interface PgStatement {
  readonly name: string | undefined
  readonly text: string
  readonly values: ReadonlyArray<unknown>
}

/**
 * Statements as the server takes them. It keeps a prepared statement under a name that is made of its text, so that processes which
 * share their connections through a pooler mean the same statement by it. When the server turns out not to keep them, as behind a
 * pooler that does not follow prepared statements, every statement is sent whole.
 */
export class PgStatements {
  private readonly names = new WeakMap<PreparedText, string>()
  private readonly kept = new WeakMap<pg.Connection, Map<string, PgColumns | undefined>>()
  private areKept = true

  of(query: Query<object>): PgStatement {
    if (query instanceof PreparedQuery) return this.prepared(query.prepared, query.parameters)
    const [text, values] = query.compile()
    return { name: undefined, text, values }
  }

  prepared(prepared: PreparedText, values: ReadonlyArray<unknown> = []): PgStatement {
    return { name: this.areKept ? this.nameOf(prepared) : undefined, text: prepared.text, values }
  }

  /** The statements that a connection has prepared, and the columns of those that have any. */
  keptBy(connection: pg.Connection): Map<string, PgColumns | undefined> {
    const known = this.kept.get(connection)
    if (known !== undefined) return known
    const none = new Map<string, PgColumns | undefined>()
    this.kept.set(connection, none)
    return none
  }

  /** Learns from the failure of a statement. */
  failureOf(cause: unknown): SqlError.SqlError {
    const failure = new SqlError.SqlError({ cause, message: "Failed to execute statement" })
    if (isForgotten(failure)) this.areKept = false
    return failure
  }

  /** A single word, such as `begin`, is its own name. */
  private nameOf(prepared: PreparedText): string {
    const known = this.names.get(prepared)
    if (known !== undefined) return known
    const { text } = prepared
    const own = /^\w+$/.test(text) ? text : createHash("sha256").update(text).digest("base64url").slice(0, 22)
    this.names.set(prepared, `reins_${own}`)
    return `reins_${own}`
  }
}

/**
 * The name of the statement kept it from running: the server does not know the name (26000), has it from another process (42P05), or has
 * planned its statement for a schema that has changed since (0A000).
 */
export const isForgotten = (failure: unknown): boolean =>
  /^(?:26000|42P05|0A000)$/.test(failedStatementOf(failure)?.code ?? "")
