import { canonicalJson } from "@reins/base/base/CanonicalJson"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import type { AnswerScope } from "@reins/core/store/AnswerPlace"
import type { StoredAnswer } from "@reins/core/store/AnswerStore"
import type { Command } from "@reins/core/store/Command"
import type { Idempotency } from "@reins/core/store/Idempotency"
import { Effect } from "effect"
import type { Exchange } from "../Exchange.js"
import { Reply } from "../Reply.js"
import { envelopeOf, errorHeaders } from "./ErrorEnvelope.js"

export interface Mutation {
  readonly exchange: Exchange
  readonly principal: Principal | undefined
  /** Method and path pattern. They and the address tell anonymous calls apart. */
  readonly route: string
  /** The workspace that the path names, if any. */
  readonly workspaceId: string | undefined
  readonly canonicalBody: string
  /** True when the answer holds a secret. */
  readonly sealed: boolean
  readonly status: number
  /** The command of any endpoint, so it may fail with every code. */
  readonly command: Command<unknown, ReinsError | RequestInvalid>
}

/** Runs a mutation once for its Idempotency-Key and answers a repeated one as the first was answered. */
export const runOnce = Effect.fnUntraced(function* (idempotency: Idempotency["Type"], mutation: Mutation) {
  const { canonicalBody, command, exchange, sealed, status } = mutation
  const { answer, replayed } = yield* idempotency.run({
    ...scopeOf(mutation),
    key: exchange.header("idempotency-key") ?? "",
    fingerprint: canonicalJson([exchange.method, exchange.path, exchange.query]) + canonicalBody,
    sealed,
    command,
    encode: (result) => answerOf(status, result),
    encodeError: (error) => ({ status: error.status, body: JSON.stringify(envelopeOf(error, exchange.requestId)) })
  })
  if (replayed) exchange.headers["idempotency-replayed"] = "true"
  return replyOf(answer)
})

/** An account has one scope for all its credentials, so that a retry is answered after its API key was replaced. */
const scopeOf = ({ exchange, principal, route, workspaceId }: Mutation): AnswerScope =>
  principal === undefined
    ? { scope: `anonymous:${route}:${exchange.clientAddress}` }
    : {
        scope: principal.accountId,
        workspace: workspaceId ?? principal.workspaceId,
        only: principal.workspaceId,
        ...(principal.via.kind === "api_key" && { before: principal.via.keyId })
      }

/** A result as it goes over the wire. Undefined is an answer without a body. */
export const answerOf = (status: number, result: unknown): StoredAnswer => ({
  status,
  body: result === undefined ? null : JSON.stringify(result)
})

export const replyOf = ({ body, status }: StoredAnswer): Reply =>
  body === null
    ? new Reply(status)
    : // A retry never helps after a stored 4xx, because it brings the same answer.
      Reply.jsonText(status, body, status >= 400 ? errorHeaders(status, false) : {})
