import { keyOf, type Principal } from "@reins/base/domain/Principal"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { fromNow, now } from "@reins/base/domain/Timestamp"
import type { ForgeKind } from "@reins/machine/forge/Forge"
import { Forges } from "@reins/machine/forge/Forges"
import { Effect } from "effect"
import type { MergeConditionsInput } from "../../projects/MergeTerms.js"
import { conditionRows } from "../rows/ConditionRows.js"
import { type MergeTerms, unmet } from "../rows/MergeConditions.js"
import type { MergeRequest } from "../rows/MergeRequest.js"
import { WatchStore } from "../rows/WatchStore.js"

/** The terms with every choice made. */
export const mergeTermsOf = (input: MergeConditionsInput): MergeTerms => ({
  checks: input.checks ?? "required",
  approvals: input.approvals ?? 0,
  threads_resolved: input.threads_resolved ?? true,
  verdict: input.verdict === undefined ? null : { from: input.verdict.from, digest: input.verdict.digest ?? null },
  heads: input.heads ?? "own",
  method: input.method ?? "merge",
  delete_branch: input.delete_branch ?? false,
  max_wait_seconds: input.max_wait_seconds ?? null
})

/** Fails with `unsupported_capability` for a method that a forge does not have. */
export const requireMethod = (
  forge: Pick<ForgeKind, "mergeMethods"> | undefined,
  kind: string,
  method: MergeTerms["method"]
): Effect.Effect<void, ReinsError<"unsupported_capability">> => {
  const methods = forge?.mergeMethods ?? new Set()
  if (methods.has(method)) return Effect.void
  return Effect.fail(
    new ReinsError({
      code: "unsupported_capability",
      message: `${kind} cannot be asked to merge with the method "${method}". Use another one.`,
      details: { forge: kind, method, supported: [...methods] }
    })
  )
}

/** Gives the function that sets the conditions of a merge request, in the place of those that it has. They begin anew. */
export const makeSetConditions = Effect.gen(function* () {
  const forges = yield* Forges
  const rows = yield* conditionRows
  const watches = yield* WatchStore
  return Effect.fnUntraced(function* (
    principal: Principal,
    request: Pick<MergeRequest, "id" | "forge">,
    input: MergeConditionsInput
  ) {
    const terms = mergeTermsOf(input)
    yield* requireMethod(forges.find(request.forge), request.forge, terms.method)
    const before = yield* rows.hold(request.id)
    const seconds = terms.max_wait_seconds
    yield* rows.write({
      id: request.id,
      actsFor: principal.accountId,
      apiKeyId: keyOf(principal),
      round: (before?.round ?? 0) + 1,
      seen: input.method === undefined ? { anyMethod: true } : {},
      shown: {
        ...terms,
        state: "waiting",
        reason: null,
        reason_message: null,
        waiting_for: [unmet("not_looked_at", "The forge has not been read since the conditions were set.")],
        head_sha: null,
        refusals: 0,
        acts_for: principal.accountId,
        set_at: yield* now,
        give_up_at: seconds === null ? null : yield* fromNow(seconds * 1000)
      }
    })
    yield* watches.ring(request.id, false)
  })
})
