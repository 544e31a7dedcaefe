import { assert, describe, it } from "@effect/vitest"
import { DelegationResults } from "@reins/core/delegations/DelegationResults"
import { Delegations } from "@reins/core/delegations/Delegations"
import { Verdicts } from "@reins/core/requests/conditions/Verdicts"
import { sealed } from "@reins/testing/changes/Fixture"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { begin } from "./Children.js"

for (const { layer, name } of flowDatabases) {
  describe(`verdicts of delegations on ${name}`, () => {
    it.scopedLive("a review judges the changeset that its child was given, and nothing else", () =>
      Effect.gen(function* () {
        const { changeset, principal, session } = yield* sealed
        const delegations = yield* Delegations
        const results = yield* DelegationResults
        const verdicts = yield* Verdicts
        const judged = (input: Omit<Parameters<typeof results.submit>[2], "summary">, given = true) =>
          Effect.gen(function* () {
            const { delegation } = yield* delegations.spawn(principal, session.id, {
              role: "reviewer",
              instructions: "Review it.",
              ...(given && { changeset_id: changeset.id })
            })
            yield* begin(principal, delegation.child_session_id)
            yield* results.submit(principal, delegation.id, { summary: "Seen.", ...input })
            return delegation.id
          })
        const first = yield* judged({ kind: "review", verdict: "Changes requested" })
        const second = yield* judged({ kind: "review", verdict: "approved" })
        yield* judged({ kind: "review", verdict: "approved" }, false)
        yield* judged({ kind: "review", verdict: "fine, I think" })
        yield* judged({ kind: "test", verdict: "passed" })
        const { items } = yield* verdicts.list(principal, changeset.id, {})
        assert.deepStrictEqual(
          items.map(({ delegation_id, from, note, verdict }) => [delegation_id, from, note, verdict]),
          [
            [second, "delegation", "Seen.", "approve"],
            [first, "delegation", "Seen.", "reject"]
          ]
        )
        assert.isTrue(items.every(({ subject_digest }) => subject_digest === changeset.subject_digest))
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
