import { createHash } from "node:crypto"
import { SqlError } from "@effect/sql"
import type pg from "pg"
import { failedStatementOf } from "./FailedStatement.js"
import { PreparedQuery, type PreparedText, type Query } from "./Query.js"

/**
 * Statements as the driver takes them. The server keeps what is prepared under a name that is made of its text, so that processes that
 * share their connections through a pooler mean the same statement by it. Once the server turns out not to keep them, as behind a
 * pooler that does not follow them, every statement is sent whole.
 */
export class PgStatements {
  private readonly names = new WeakMap<PreparedText, string>()
  private areKept = true

  configOf(query: Query<object>): pg.QueryConfig<Array<unknown>> {
    const [text, parameters] =
      query instanceof PreparedQuery ? [query.prepared.text, query.parameters] : query.compile()
    // Boundary: the driver does not change the values, though its types do not say so.
    const values = parameters as Array<unknown>
    return query instanceof PreparedQuery && this.areKept
      ? { name: this.nameOf(query.prepared), text, values }
      : { text, values }
  }

  /** A statement that the driver says has failed. */
  failureOf(cause: unknown): SqlError.SqlError {
    const failure = new SqlError.SqlError({ cause, message: "Failed to execute statement" })
    if (isForgotten(failure)) this.areKept = false
    return failure
  }

  private nameOf(prepared: PreparedText): string {
    const known = this.names.get(prepared)
    if (known !== undefined) return known
    const name = `reins_${createHash("sha256").update(prepared.text).digest("base64url").slice(0, 22)}`
    this.names.set(prepared, name)
    return name
  }
}

/**
 * The statement was not run because of its name: the server does not know it (26000), knows it from somebody else (42P05), or has
 * planned it for a schema that has changed since (0A000).
 */
export const isForgotten = (failure: unknown): boolean =>
  /^(?:26000|42P05|0A000)$/.test(failedStatementOf(failure)?.code ?? "")
