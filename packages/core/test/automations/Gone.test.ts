import { assert, describe, it } from "@effect/vitest"
import * as Memberships from "@reins/core/access/Memberships"
import { AccountDeletions } from "@reins/core/deletion/AccountDeletions"
import { ProjectDeletions } from "@reins/core/deletion/ProjectDeletions"
import { Accounts } from "@reins/core/identity/Accounts"
import { Projects } from "@reins/core/projects/Projects"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Redacted } from "effect"
import { principalOf } from "../identity/Principals.js"
import { daily, daysAgo, fire, given } from "./Automated.js"

for (const { layer, name } of flowDatabases) {
  describe(`automations whose account or project goes on ${name}`, () => {
    it.scopedLive("are paused, start nothing more, and stay for others who resume them", () =>
      Effect.gen(function* () {
        const { add, automations, get, principal, runsOf, sessionCount, workspaceId } = yield* given
        const db = yield* Database
        const { commit } = yield* Journal
        const account = yield* (yield* Accounts).createVerified({
          email: "leaver@example.com",
          password: Redacted.make("correct horse battery staple")
        })
        const member = { workspace_id: workspaceId, account_id: account.id, role: "member" } as const
        yield* commit(Memberships.add(db, { ...member, created_at: daysAgo(1) }))
        const theirs = yield* automations.create(principalOf(account), workspaceId, {
          name: "Theirs",
          trigger: daily,
          target: { kind: "new_session", message: "Go." },
          start_within_seconds: 86_400
        })
        yield* (yield* AccountDeletions).deleteFor(account.id)
        assert.deepInclude(yield* get(theirs.id), {
          state: "paused",
          pause_reason: "owner_lost_access",
          next_due_at: null
        })
        // Its row goes last.
        yield* db.run(db.sql`delete from accounts where id = ${account.id}`)
        assert.strictEqual((yield* get(theirs.id)).acts_for, account.id)
        assert.strictEqual(yield* sessionCount, 0)
        assert.deepInclude(yield* automations.resume(principal, theirs.id), {
          state: "active",
          acts_for: principal.accountId
        })
        yield* fire(theirs.id)
        assert.deepInclude((yield* runsOf(theirs.id))[0], { state: "waiting" })

        const project = yield* (yield* Projects).create(principal, workspaceId, { name: "One", slug: "one", spec: {} })
        const { id } = yield* add({ target: { kind: "new_session", project_id: project.id, message: "Go." } })
        yield* (yield* ProjectDeletions).deleteProject(principal, project.id)
        assert.deepInclude(yield* get(id), { state: "paused", pause_reason: "project_gone", next_due_at: null })
      }).pipe(Effect.provide(services(layer)))
    )
  })
}
