import { assert, describe, it } from "@effect/vitest"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import * as Memberships from "@reins/core/access/Memberships"
import { Hooks, maxHooks } from "@reins/core/hooks/Hooks"
import { sealedValues } from "@reins/core/Rooms"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { newAccount } from "@reins/testing/identity/Identity"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { Effect } from "effect"
import { principalOf } from "../identity/Principals.js"

const codeOf = <A>(effect: Effect.Effect<A, ReinsError>) => Effect.map(Effect.flip(effect), ({ code }) => code)

for (const { layer, name } of databases) {
  describe(`who manages hooks on ${name}`, () => {
    it.scopedLive(
      "is an owner with the scope admin, up to 20 of them, and their secrets are among the sealed values",
      () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const hooks = yield* Hooks
          const db = yield* Database
          const { commit } = yield* Journal
          const hook = yield* hooks.create(principal, workspaceId, { kind: "gitea", label: "one" })
          assert.match(hook.secret, /^whsec_/)
          assert.strictEqual(hook.path, `/api/hooks/${hook.id}`)
          const weak = { ...principal, scopes: ["write"] as const }
          assert.strictEqual(yield* codeOf(hooks.get(weak, hook.id)), "insufficient_scope")
          const other = principalOf(yield* newAccount)
          assert.strictEqual(yield* codeOf(hooks.get(other, hook.id)), "not_found")
          const member = { workspace_id: workspaceId, account_id: other.accountId, role: "member" } as const
          yield* commit(Memberships.add(db, { ...member, created_at: hook.created_at }))
          assert.strictEqual(yield* codeOf(hooks.rotate(other, hook.id, {})), "forbidden")
          assert.strictEqual(yield* codeOf(hooks.receipts(other, hook.id, {})), "forbidden")
          yield* hooks.rotate(principal, hook.id, {})
          const sealed = yield* sealedValues(db)
          assert.lengthOf(
            sealed.filter(({ context }) => context === `hook|${workspaceId}|${hook.id}`),
            2
          )
          for (let made = 1; made < maxHooks; made++)
            yield* hooks.create(principal, workspaceId, { kind: "token", label: `${made}` })
          assert.strictEqual(
            yield* codeOf(hooks.create(principal, workspaceId, { kind: "token", label: "more" })),
            "quota_exhausted"
          )
        }).pipe(Effect.provide(services(layer)))
    )
  })
}
