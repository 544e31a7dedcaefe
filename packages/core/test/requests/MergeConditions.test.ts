import { assert, layer } from "@effect/vitest"
import type { Principal } from "@reins/base/domain/Principal"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { ApiKeys } from "@reins/core/identity/ApiKeys"
import type { MergeConditionsInput } from "@reins/core/projects/MergeTerms"
import { Conditions } from "@reins/core/requests/conditions/Conditions"
import { Verdicts } from "@reins/core/requests/conditions/Verdicts"
import { MergeRequests } from "@reins/core/requests/MergeRequests"
import type { MergeConditions } from "@reins/core/requests/rows/MergeConditions"
import type { ActionableMergeRequest, MergeRequest } from "@reins/core/requests/rows/MergeRequest"
import { Database } from "@reins/core/store/Database"
import { codeOf, eventOf, eventsUntil, installation } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { within } from "@reins/testing/MachineTime"
import { aWhile } from "@reins/testing/process/Waiting"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"
import { until as repeated, watched } from "./Watched.js"

/** A merge request once it is so. */
const until = <E, R>(get: Effect.Effect<ActionableMergeRequest, E, R>, isSo: (request: MergeRequest) => boolean) =>
  Effect.zipRight(repeated(get, isSo), get)

/** An open merge request with conditions, after a look. */
const withConditions = (kind: KnownForge, input: MergeConditionsInput, by?: (own: Principal) => Principal) =>
  Effect.gen(function* () {
    const given = yield* watched(kind)
    const conditions = yield* Conditions
    const requests = yield* MergeRequests
    yield* conditions.set(by === undefined ? given.principal : by(given.principal), given.id, input)
    const merge = requests.merge(given.principal, given.id, { when: "conditions" })
    const merged = until(given.get, ({ state }) => state === "merged")
    return { ...given, conditions, requests, merge, merged }
  })

const waits = ({ conditions }: MergeRequest): ReadonlyArray<string> =>
  conditions?.waiting_for.map(({ kind, names }) => [kind, ...names].join(" ")) ?? []

const merges = ({
  origin
}: {
  readonly origin: { readonly forge: { readonly seen: ReadonlyArray<{ path: string }> } }
}) => origin.forge.seen.filter(({ path }) => path.endsWith("/merge")).length

/** Has the time of stored conditions come, as waiting would. */
const rewind = (id: string, shown: Partial<MergeConditions>) =>
  Effect.gen(function* () {
    const { first, run, sql } = yield* Database
    const row = yield* first(sql<{ seen: string; shown: string }>`select * from merge_conditions
      where merge_request_id = ${id}`)
    const seen = JSON.parse(row?.seen ?? "{}")
    const next = { ...seen, ...(seen.refused !== undefined && { refused: { ...seen.refused, at: 0 } }) }
    yield* run(sql`update merge_conditions set seen = ${JSON.stringify(next)},
      shown = ${JSON.stringify({ ...JSON.parse(row?.shown ?? "{}"), ...shown })} where merge_request_id = ${id}`)
  })

for (const { layer: database, name } of forgeDatabases) {
  layer(installation(database), { excludeTestServices: true })(`merge conditions on ${name}`, (it) => {
    for (const kind of forgesOn(name)) {
      it.scoped(`${kind}: everything holds, so it is merged once, with its branch removed`, () =>
        Effect.gen(function* () {
          const given = yield* withConditions(kind, { approvals: 1, delete_branch: true })
          const { delivery, head, look, origin, session } = given
          const { forge } = origin
          forge.required.push("build")
          forge.readers.add("eve")
          assert.include(waits(yield* look), kind === "gitlab" ? "checks_pending" : "check build")
          const build = forge.check({ head, name: "build", state: "pending" })
          forge.check({ head: "9".repeat(40), name: "build", state: "passed" })
          const thread = forge.comment({ author: "cleo", body: "Why?", place: { path: "a.txt", line: 1, side: "new" } })
          forge.review({ author: "eve", state: "approved" })
          assert.sameMembers([...waits(yield* look)], ["checks_pending build", "approvals", "open_threads"])
          build.state = "failed"
          assert.include(waits(yield* look), "checks_failing build")
          build.state = "passed"
          thread.resolved = true
          assert.deepStrictEqual(waits(yield* look), ["approvals"])
          assert.strictEqual(yield* codeOf(given.merge), "conditions_unmet")
          forge.review({ author: "bob", state: "approved" })
          yield* given.looks.look(given.principal, given.id)
          const done = yield* given.merged
          assert.deepInclude(done.conditions ?? {}, { state: "merged", waiting_for: [], head_sha: head })
          assert.strictEqual(merges(given), 1)
          assert.strictEqual(origin.headOf("main"), head)
          yield* Effect.repeat(
            Effect.map(aWhile, () => origin.headOf(delivery.target_ref)),
            { until: (found) => found === undefined }
          ).pipe(within(10))
          const events = yield* eventsUntil(session.id, 0, ({ type }) => type === "merge_request.merged")
          assert.lengthOf(
            events.filter(({ type }) => type === "merge_request.ready_to_merge"),
            1
          )
        })
      )

      it.scoped(`${kind}: a merge waits for what the forge demands, whatever the token may pass by`, () =>
        Effect.gen(function* () {
          const given = yield* withConditions(kind, { checks: "none" })
          const { look, origin } = given
          const { forge } = origin
          const parameters = { required_approving_review_count: 1, require_code_owner_review: true }
          Object.assign(
            forge.demands,
            {
              github: {
                rules: [{ type: "pull_request", ruleset_id: 2, parameters }, { type: "required_linear_history" }]
              },
              gitlab: { repository: { squash_option: "always" } },
              gitea: { branch: { required_approvals: 1 }, repository: { allow_merge_commits: false } }
            }[kind]
          )
          forge.odd.word = { github: "blocked", gitlab: "not_approved", gitea: undefined }[kind]
          const lacks = {
            github: ["forge_approvals", "forge_rule code_owner_review"],
            gitlab: ["forge_demands_more"],
            gitea: ["forge_approvals"]
          }
          yield* given.conditions.set(given.principal, given.id, { checks: "none" })
          assert.deepStrictEqual(waits(yield* look), lacks[kind])
          assert.strictEqual(merges(given), 0)
          // The approval is there, and nobody may pass the rule by, so the word of the forge counts.
          forge.review({ author: "bob", state: "approved" })
          forge.demands.bypass = "never"
          forge.odd.word = undefined
          yield* given.conditions.set(given.principal, given.id, { checks: "none" })
          assert.strictEqual((yield* given.merged).conditions?.method, "squash")
          assert.strictEqual(merges(given), 1)
        })
      )

      it.scoped(`${kind}: a push of anybody makes it wait again, and 100 merges that do not fit merge nothing`, () =>
        Effect.gen(function* () {
          const stale = { checks: "none", approvals: 1, threads_resolved: false } as const
          const given = yield* withConditions(kind, { ...stale, heads: "any" })
          const { conditions, delivery, id, look, merge, origin, principal, requests } = given
          yield* look
          const theirs = origin.commitOn(delivery.target_ref, "c.txt", "theirs\n")
          // The approval is of the delivered commit, which is not the head any more.
          if (kind !== "gitlab") origin.forge.review({ author: "bob", state: "approved", head: given.head })
          assert.deepStrictEqual(waits(yield* look), ["approvals"])
          for (let index = 0; index < 34; index++) assert.strictEqual(yield* codeOf(merge), "conditions_unmet")

          yield* conditions.set(principal, id, { checks: "none", threads_resolved: false })
          assert.deepStrictEqual(waits(yield* look), ["foreign_head"])
          for (let index = 0; index < 33; index++) assert.strictEqual(yield* codeOf(merge), "conditions_unmet")

          const old = requests.merge(principal, id, { expected_head_sha: given.head })
          for (let index = 0; index < 33; index++) assert.strictEqual(yield* codeOf(old), "remote_head_changed")
          assert.strictEqual(merges(given), 0)

          yield* conditions.set(principal, id, { checks: "none", heads: "any", threads_resolved: false })
          assert.strictEqual((yield* given.merged).head_sha, theirs)
          assert.strictEqual(merges(given), 1)
        })
      )
    }

    it.scoped("a verdict of a member is bound to the digest of the delivered changeset", () =>
      Effect.gen(function* () {
        const verdict = { from: "member" } as const
        const given = yield* withConditions("github", { checks: "none", verdict })
        const { conditions, delivery, id, look, merge, principal } = given
        const verdicts = yield* Verdicts
        assert.deepStrictEqual(waits(yield* look), ["verdict"])
        const give = (input: Parameters<(typeof verdicts)["give"]>[2]) =>
          verdicts.give(principal, delivery.changeset_id, input)
        const wrong = give({ verdict: "approve", subject_digest: `sha256:${"0".repeat(64)}` })
        assert.strictEqual(yield* codeOf(wrong), "stale_subject")
        const rejected = yield* give({ verdict: "reject", note: "Too short." })
        assert.deepStrictEqual((yield* verdicts.list(principal, delivery.changeset_id, {})).items, [rejected])
        assert.deepStrictEqual(waits(yield* look), ["verdict_rejected", "verdict"])
        yield* conditions.set(principal, id, {
          checks: "none",
          verdict: { ...verdict, digest: `sha256:${"0".repeat(64)}` }
        })
        yield* give({ verdict: "approve" })
        assert.deepStrictEqual(waits(yield* look), ["verdict"])
        for (let index = 0; index < 33; index++) assert.strictEqual(yield* codeOf(merge), "conditions_unmet")
        assert.strictEqual(merges(given), 0)
        yield* conditions.set(principal, id, {
          checks: "none",
          verdict: { ...verdict, digest: rejected.subject_digest }
        })
        assert.strictEqual((yield* given.merged).state, "merged")
      })
    )

    variants(() => {
      it.scoped("a verdict on one changeset is none on the next, which is delivered on top of it", () =>
        Effect.gen(function* () {
          const given = yield* watched("gitea")
          const { change, delivery, get, id, look, principal, session } = given
          const verdicts = yield* Verdicts
          yield* verdicts.give(principal, delivery.changeset_id, { verdict: "approve" })
          const next = yield* change({ "a.txt": "TWO\n" })
          const deliveries = yield* Deliveries
          const { event_watermark } = yield* deliveries.request(principal, next.id, { onto: "head" })
          yield* eventOf(session.id, event_watermark, "delivery.succeeded")
          yield* (yield* Conditions).set(principal, id, { checks: "none", verdict: { from: "member" } })
          assert.deepStrictEqual(waits(yield* look), ["verdict"])
          assert.deepInclude(yield* get, {
            actions: ["look", "reply", "merge", "set_conditions", "remove_conditions", "set_readiness"]
          })
          // The look that the verdict asks for merges it.
          yield* verdicts.give(principal, next.id, { verdict: "approve" })
          const done = yield* until(get, ({ state }) => state === "merged")
          assert.notStrictEqual(done.head_sha, given.head)
          assert.deepStrictEqual(done.actions, [])
        })
      )
    })

    variants(() => {
      it.scoped("a revoked key of whoever has set the conditions gives them up", () =>
        Effect.gen(function* () {
          const given = yield* watched("gitea")
          const { get, id, look, origin, principal, session } = given
          const keys = yield* ApiKeys
          const key = yield* keys.create(principal, {
            name: "merges",
            scopes: ["write"],
            workspace_id: session.workspace_id
          })
          const by: Principal = {
            accountId: principal.accountId,
            scopes: ["write"],
            workspaceId: session.workspace_id,
            via: { kind: "api_key", keyId: key.id }
          }
          yield* (yield* Conditions).set(by, id, { checks: "all" })
          assert.deepStrictEqual(waits(yield* look), ["checks_pending"])
          yield* keys.revoke(principal, key.id)
          origin.forge.check({ head: given.head, name: "build", state: "passed" })
          yield* look
          assert.deepInclude((yield* get).conditions ?? {}, { state: "given_up", reason: "owner_lost_access" })
          yield* eventOf(session.id, 0, "merge_request.conditions_given_up")
          assert.strictEqual(merges(given), 0)
        })
      )
    })

    variants(() => {
      it.scoped("three refusals of one head give up, and somebody may ask again", () =>
        Effect.gen(function* () {
          const given = yield* watched("gitlab")
          const { get, id, looks, origin, principal } = given
          origin.forge.odd.refusesMerges = true
          yield* (yield* Conditions).set(principal, id, { checks: "none" })
          for (let refusals = 1; refusals <= 3; refusals++) {
            const refused = yield* until(get, ({ conditions }) => conditions?.refusals === refusals)
            assert.strictEqual(refused.conditions?.state, refusals < 3 ? "waiting" : "given_up")
            assert.deepStrictEqual(waits(refused), ["forge"])
            yield* rewind(id, {})
            yield* looks.look(principal, id)
          }
          assert.strictEqual(merges(given), 3)
          assert.strictEqual((yield* get).conditions?.reason, "forge_refused")
          origin.forge.odd.refusesMerges = false
          yield* (yield* MergeRequests).merge(principal, id, { when: "conditions" })
          yield* until(get, ({ state }) => state === "merged")
        })
      )
    })

    variants(() => {
      it.scoped("a new merge request takes over the conditions of its project", () =>
        Effect.gen(function* () {
          const delivery = { merge_conditions: { checks: "all", verdict: { from: "member" } } } as const
          const { get, look, principal, session } = yield* watched("github", { delivery })
          const { conditions } = yield* get
          assert.deepInclude(conditions ?? {}, {
            ...{
              checks: "all",
              approvals: 0,
              threads_resolved: true,
              heads: "own",
              method: "merge",
              delete_branch: false
            },
            verdict: { from: "member", digest: null },
            acts_for: principal.accountId
          })
          assert.deepStrictEqual(waits(yield* look), ["checks_pending", "verdict"])
          assert.strictEqual((yield* get).session_id, session.id)
        })
      )
    })

    it.scoped("conditions whose time is over are given up, and those that were taken back merge nothing", () =>
      Effect.gen(function* () {
        const given = yield* withConditions("github", { checks: "all", max_wait_seconds: 60 })
        const { conditions, get, head, id, look, merge, origin, principal } = given
        yield* look
        yield* rewind(id, { give_up_at: (yield* get).created_at })
        yield* look
        assert.deepInclude((yield* get).conditions ?? {}, { state: "given_up", reason: "waited_too_long" })
        yield* conditions.set(principal, id, { checks: "all" })
        const { merge_request } = yield* conditions.remove(principal, id)
        assert.isNull(merge_request.conditions)
        origin.forge.check({ head, name: "build", state: "passed" })
        yield* look
        assert.strictEqual(yield* codeOf(merge), "invalid_transition")
        assert.strictEqual((yield* get).state, "open")
        assert.strictEqual(merges(given), 0)
      })
    )
  })
}
