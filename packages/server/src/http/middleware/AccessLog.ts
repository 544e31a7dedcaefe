import type { Principal } from "@reins/core/domain/Principal"
import { Effect } from "effect"
import type { Exchange } from "../Exchange.js"

/**
 * A line for each mutation and each failure: who, what, how it went. No query and no body, which may hold secrets. Only an answer that
 * nobody foresaw is a warning: a full disk or a stop says so itself, once and not for every request.
 */
export const logAccess = (
  { method, path, principal, requestId }: Exchange,
  status: number,
  ms: number
): Effect.Effect<void> | undefined => {
  if (status < 400 && (method === "GET" || method === "HEAD" || method === "OPTIONS")) return undefined
  return Effect.annotateLogs(
    status >= 500 && status !== 503 ? Effect.logWarning("request") : Effect.logInfo("request"),
    {
      request_id: requestId,
      method,
      path,
      status,
      ms: Math.round(ms),
      principal: nameOf(principal)
    }
  )
}

const nameOf = (principal: Principal | undefined): string | null =>
  principal === undefined ? null : principal.via.kind === "api_key" ? principal.via.keyId : principal.accountId
