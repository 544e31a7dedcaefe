import { createHash } from "node:crypto"
import { SqlError } from "@effect/sql"
import type pg from "pg"
import { failedStatementOf } from "./FailedStatement.js"
import type { PgColumns } from "./PgColumns.js"
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
  private kept = new WeakMap<pg.Connection, Map<string, PgColumns | undefined>>()
  private areKept = true
  /** The connections that wait for an answer, since when, in milliseconds of `performance.now`. */
  private readonly waiting = new Map<pg.Connection, number>()

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

  /** Statements are on the way. */
  sent(connection: pg.Connection): void {
    this.waiting.set(connection, performance.now())
  }

  /** They were answered, or never will be. */
  answered(connection: pg.Connection): void {
    this.waiting.delete(connection)
  }

  /** Breaks the connections that have waited for so many milliseconds. */
  breakSilent(silentMs: number): void {
    const latest = performance.now() - silentMs
    for (const [{ stream }, since] of this.waiting) if (since <= latest) stream.destroy()
  }

  /** Learns from the failure of a statement. */
  failureOf(cause: unknown): SqlError.SqlError {
    const failure = new SqlError.SqlError({ cause, message: "Failed to execute statement" })
    // A migration has changed the columns of a statement, so that each connection prepares its statements anew.
    if (codeOf(failure) === outdated) this.kept = new WeakMap()
    else if (isForgotten(failure)) this.areKept = false
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

const codeOf = (failure: unknown): string => failedStatementOf(failure)?.code ?? ""

const outdated = "0A000"

/**
 * The name of the statement kept it from running: the server does not know the name (26000), has it from another process (42P05), or has
 * planned its statement for a schema that has changed since (0A000).
 */
export const isForgotten = (failure: unknown): boolean =>
  codeOf(failure) === outdated || /^(?:26000|42P05)$/.test(codeOf(failure))
