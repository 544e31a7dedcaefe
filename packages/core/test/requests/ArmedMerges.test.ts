import { assert, layer } from "@effect/vitest"
import type { MergeRequestId } from "@reins/base/domain/Ids"
import { Cares } from "@reins/core/care/Cares"
import type { MergeConditionsInput } from "@reins/core/projects/MergeTerms"
import { Conditions } from "@reins/core/requests/conditions/Conditions"
import { MergeRequests } from "@reins/core/requests/MergeRequests"
import { Database } from "@reins/core/store/Database"
import { eventsUntil, installation, operationEnd } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"
import { until, watched } from "./Watched.js"

/** A merge request that is to be merged once its checks pass. */
const armed = (kind: KnownForge, input: MergeConditionsInput = { checks: "all" }) =>
  Effect.gen(function* () {
    const given = yield* watched(kind)
    const conditions = yield* Conditions
    const cares = yield* Cares
    const requests = yield* MergeRequests
    const { forge } = given.origin
    yield* conditions.set(given.principal, given.id, input)
    const merges = () => forge.seen.filter(({ path }) => path.endsWith("/merge")).length
    const pull = forge.pulls[0] ?? (yield* Effect.dieMessage("no merge request"))
    const events = Effect.map(
      eventsUntil(given.session.id, 0, ({ type }) => type === "merge_request.conditions_given_up"),
      (all) => all.map(({ type }) => type)
    )
    return { ...given, cares, conditions, events, forge, merges, pull, requests }
  })

/** Has the head been there for so long, as waiting would. */
const passMinutes = (id: MergeRequestId, minutes: number) =>
  Effect.gen(function* () {
    const { first, run, sql } = yield* Database
    const row = yield* first(sql<{ memory: string }>`select memory from watches where merge_request_id = ${id}`)
    const memory = JSON.parse(row?.memory ?? "{}")
    const earlier = JSON.stringify({ ...memory, headSince: memory.headSince - minutes * 60_000 })
    yield* run(sql`update watches set memory = ${earlier} where merge_request_id = ${id}`)
  })

for (const { layer: database, name } of forgeDatabases) {
  layer(installation(database), { excludeTestServices: true })(`merges that wait on ${name}`, (it) => {
    for (const kind of forgesOn(name)) {
      it.scoped(`${kind}: another base branch ends the conditions, and is told`, () =>
        Effect.gen(function* () {
          const given = yield* armed(kind)
          const { conditions, events, forge, get, head, id, look, merges, origin, principal, pull } = given
          origin.git("branch", "next", "main")
          yield* look
          pull.base = "next"
          forge.check({ head, name: "build", state: "passed" })
          const seen = yield* look
          assert.deepInclude(seen, { base_branch: "next", state: "open", head_sha: head })
          assert.deepInclude(seen.conditions ?? {}, { state: "given_up", reason: "base_changed" })
          assert.include(seen.conditions?.reason_message, '"next"')
          // Checks can be begun anew where the forge has that, by those who may.
          assert.strictEqual(seen.actions.includes("rerun"), kind !== "gitea")
          const reader = { ...principal, scopes: ["read" as const] }
          assert.deepStrictEqual((yield* given.requests.get(reader, id)).actions, [])
          assert.includeMembers([...(yield* events)], ["merge_request.base_changed"])
          yield* look
          assert.strictEqual(merges(), 0)
          // Set again, they are about the new one.
          yield* conditions.set(principal, id, { checks: "all" })
          assert.strictEqual((yield* look).conditions?.reason ?? null, null)
          const before = origin.headOf("main")
          yield* until(get, ({ state }) => state === "merged")
          assert.strictEqual(origin.headOf("next"), head)
          assert.strictEqual(origin.headOf("main"), before)
        })
      )

      it.scoped(`${kind}: a merge that is under way does not go to a branch that was chosen meanwhile`, () =>
        Effect.gen(function* () {
          const { get, head, id, merges, origin, principal, pull, requests } = yield* armed(kind)
          origin.git("branch", "next", "main")
          pull.base = "next"
          const answer = yield* requests.merge(principal, id, { expected_head_sha: head })
          assert.strictEqual((yield* operationEnd(answer.operation.id)).state, "failed")
          const seen = yield* get
          assert.deepInclude(seen, { base_branch: "next", state: "open", reason: "not_mergeable" })
          assert.include(seen.reason_message, "base branch")
          assert.strictEqual(merges(), 0)
        })
      )
    }

    it.scoped("a repository without any check says so after ten minutes, and a person is asked", () =>
      Effect.gen(function* () {
        const { cares, events, get, id, look, merges, principal } = yield* armed("github")
        yield* cares.start(principal, id, { checks: "fix" })
        yield* look
        yield* passMinutes(id, 9)
        assert.deepInclude((yield* look).conditions ?? {}, { state: "waiting" })
        yield* passMinutes(id, 1)
        const seen = yield* look
        assert.deepInclude(seen.conditions ?? {}, { state: "given_up", reason: "checks_do_not_run" })
        assert.include(seen.conditions?.reason_message, "ten minutes")
        assert.deepInclude(seen.standing?.waiting_for[0] ?? {}, { kind: "no_check_reports" })
        assert.deepInclude(yield* cares.get(principal, id), { state: "handed_over", reason: "checks_do_not_run" })
        yield* events
        assert.strictEqual((yield* get).state, "open")
        assert.strictEqual(merges(), 0)
      })
    )

    variants(() => {
      it.scoped("care for reviewers goes on in a repository without checks", () =>
        Effect.gen(function* () {
          const { cares, id, look, principal } = yield* armed("gitea")
          yield* cares.start(principal, id, { checks: "fix", reviews: "fix" })
          yield* look
          yield* passMinutes(id, 11)
          assert.deepInclude((yield* look).conditions ?? {}, { state: "given_up", reason: "checks_do_not_run" })
          assert.deepInclude(yield* cares.get(principal, id), { state: "watching" })
        })
      )
    })

    variants(() => {
      it.scoped("a repository whose CI has reported before is waited for", () =>
        Effect.gen(function* () {
          const { branch, forge, head, id, look, origin } = yield* Effect.map(armed("gitlab"), (given) => ({
            ...given,
            branch: given.delivery.target_ref
          }))
          forge.check({ head, name: "build", state: "failed" })
          yield* look
          origin.commitOn(branch, "b.txt", "TWO\n")
          yield* look
          yield* passMinutes(id, 11)
          const seen = yield* look
          assert.deepInclude(seen.conditions ?? {}, { state: "waiting" })
          assert.include(seen.conditions?.waiting_for.map(({ kind }) => kind) ?? [], "no_check_reports")
        })
      )
    })
  })
}
