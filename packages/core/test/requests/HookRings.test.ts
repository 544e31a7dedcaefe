import { createHmac } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import type { ConnectionId } from "@reins/base/domain/Ids"
import { now, type Timestamp } from "@reins/base/domain/Timestamp"
import { HookReceiving } from "@reins/core/hooks/HookReceiving"
import { HookRegistrations } from "@reins/core/hooks/HookRegistrations"
import { Hooks } from "@reins/core/hooks/Hooks"
import { Workspaces } from "@reins/core/identity/Workspaces"
import { Database } from "@reins/core/store/Database"
import { codeOf, forgeConnection, installation } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"
import { isAtRest, until, watched } from "./Watched.js"

interface Place {
  readonly repository: string
  readonly number: number
  readonly head: string
  readonly branch: string
}

/** The parts that are read of what each forge sends, after its documentation. */
const bodies: Readonly<Record<KnownForge, (place: Place) => Readonly<Record<string, object>>>> = {
  github: ({ branch, head, number, repository: full_name }) => {
    const repository = { full_name }
    return {
      pull_request: { action: "synchronize", number, pull_request: { number }, repository },
      pull_request_review: { action: "submitted", review: { state: "approved" }, pull_request: { number }, repository },
      pull_request_review_comment: { action: "created", pull_request: { number }, repository },
      issue_comment: { action: "created", issue: { number, pull_request: {} }, repository },
      check_run: { action: "completed", check_run: { head_sha: head, pull_requests: [] }, repository },
      check_suite: { action: "completed", check_suite: { head_sha: head, pull_requests: [] }, repository },
      status: { sha: head, context: "ci/test", state: "failure", repository },
      push: { ref: `refs/heads/${branch}`, after: head, repository }
    }
  },
  gitlab: ({ branch, head, number, repository }) => {
    const project = { path_with_namespace: repository }
    return {
      "Merge Request Hook": { object_kind: "merge_request", project, object_attributes: { iid: number } },
      "Note Hook": { object_kind: "note", project, merge_request: { iid: number }, object_attributes: { id: 9 } },
      "Pipeline Hook": { object_kind: "pipeline", project, merge_request: null, object_attributes: { sha: head } },
      "Job Hook": {
        object_kind: "build",
        repository: { homepage: `https://gitlab.example/${repository}` },
        sha: head,
        build_status: "failed"
      },
      "Push Hook": { object_kind: "push", project, ref: `refs/heads/${branch}`, after: head }
    }
  },
  gitea: ({ branch, head, number, repository: full_name }) => {
    const repository = { full_name }
    return {
      pull_request: { action: "synchronized", number, pull_request: { number }, repository },
      pull_request_approved: { action: "reviewed", number, pull_request: { number }, review: {}, repository },
      issue_comment: { action: "created", is_pull: true, issue: { number }, comment: { id: 9 }, repository },
      status: { sha: head, context: "ci/test", state: "failure", repository },
      push: { ref: `refs/heads/${branch}`, after: head, repository }
    }
  }
}

/** Bodies that are about no merge request of the place. */
const others: Readonly<Record<KnownForge, (place: Place) => ReadonlyArray<object>>> = {
  github: ({ number, repository: full_name }) => [
    { action: "opened", issue: { number }, repository: { full_name } },
    { ref: `refs/tags/v${number}`, repository: { full_name } },
    { pull_request: { number: `${number}` }, repository: { full_name } },
    { context: "ci", sha: "../../etc/passwd", repository: { full_name } },
    { pull_request: { number }, repository: { full_name: 5 } }
  ],
  gitlab: ({ number, repository }) => [
    { object_kind: "issue", project: { path_with_namespace: repository }, object_attributes: { iid: number } },
    { object_kind: "tag_push", project: { path_with_namespace: repository }, ref: "refs/tags/v1" },
    { object_kind: "note", project: { path_with_namespace: repository }, issue: { iid: number } }
  ],
  gitea: ({ number, repository: full_name }) => [
    { is_pull: false, issue: { number }, repository: { full_name } },
    { ref: "refs/tags/v1", repository: { full_name } },
    { repository: { full_name } }
  ]
}

const headersOf = (kind: KnownForge, event: string, id: string, secret: string, body: Buffer) => {
  const digest = createHmac("sha256", secret).update(body).digest("hex")
  const headers: Readonly<Record<KnownForge, Readonly<Record<string, string>>>> = {
    github: { "x-hub-signature-256": `sha256=${digest}`, "x-github-delivery": id, "x-github-event": event },
    gitlab: { "x-gitlab-token": secret, "webhook-id": id, "x-gitlab-event": event },
    gitea: { "x-gitea-signature": digest, "x-gitea-delivery": id, "x-gitea-event": event }
  }
  return headers[kind]
}

/** A merge request that was looked at, and hooks of its forge. */
const ringed = (kind: KnownForge) =>
  Effect.gen(function* () {
    const made = yield* watched(kind)
    const { number, head_branch: branch, repository } = yield* made.look
    const { connection, get, id, principal } = made
    const place: Place = { repository, number: number ?? 0, head: made.head, branch }
    const hooks = yield* Hooks
    const registrations = yield* HookRegistrations
    const receiving = yield* HookReceiving
    const { first, sql } = yield* Database
    const workspaceId = connection.workspace_id
    const hook = (workspace: string = workspaceId) => hooks.create(principal, workspace, { kind, label: "forge" })
    const register = (hookId: string, connection_id: ConnectionId, url: string = made.origin.url) =>
      registrations.register(principal, hookId, { connection_id, repository: url })
    const call = (
      { id: hookId, secret }: { readonly id: string; readonly secret: string },
      body: object,
      delivery: string,
      event = "event"
    ) => {
      const bytes = Buffer.from(JSON.stringify(body))
      const headers = headersOf(kind, event, delivery, secret, bytes)
      return receiving.receive(hookId, { header: (name) => headers[name], body: bytes })
    }
    /** The rings of the merge request so far. */
    const rings = Effect.map(
      first(sql<{ rung: number }>`select rung from watches where merge_request_id = ${id}`),
      (row) => row?.rung ?? 0
    )
    /** Waits for a look that did not begin before a time. */
    const looked = (from: Timestamp) => until(get, (request) => isAtRest(request, from))
    return { ...made, call, hook, hooks, looked, place, register, rings }
  })

for (const { layer: database, name } of forgeDatabases) {
  layer(installation(database), { excludeTestServices: true })(`rings of hooks on ${name}`, (it) => {
    for (const kind of forgesOn(name)) {
      it.scoped(`each delivery of ${kind} about a merge request has it looked at, and the same one 25 times once`, () =>
        Effect.gen(function* () {
          const { call, connection, hook, hooks, looked, place, principal, register, rings } = yield* ringed(kind)
          const made = yield* hook()
          yield* register(made.id, connection.id)
          for (const [event, body] of Object.entries(bodies[kind](place))) {
            const before = yield* rings
            const from = yield* now
            const answers = yield* Effect.forEach(
              Array.from({ length: 25 }),
              () => call(made, body, `${event} of ${place.number}`, event),
              { concurrency: 5 }
            )
            const outcomes = answers.map(({ outcome }) => outcome).sort()
            assert.deepStrictEqual(outcomes, ["accepted", ...Array.from({ length: 24 }, () => "duplicate")], event)
            assert.strictEqual(yield* rings, before + 1, event)
            yield* looked(from)
          }
          const { items } = yield* hooks.receipts(principal, made.id, {})
          assert.isTrue(items.every(({ outcome, runs }) => outcome === "accepted" && runs === 0))
          // A replay rings again.
          const before = yield* rings
          const replayed = yield* hooks.replay(principal, items[0]?.id ?? "")
          assert.deepInclude(replayed, { outcome: "accepted", runs: 0 })
          assert.strictEqual(yield* rings, before + 1)
        })
      )

      it.scoped(
        `a check of ${kind} on a commit that nobody knows yet rings a merge request that is being looked at`,
        () =>
          Effect.gen(function* () {
            const { call, connection, hook, id, place, register, rings } = yield* ringed(kind)
            const { clock, run, sql } = yield* Database
            const made = yield* hook()
            yield* register(made.id, connection.id)
            const isOfCheck = (event: string) => /status|check|Pipeline|Job/.test(event)
            const bodiesAt = (head: string) =>
              Object.entries(bodies[kind]({ ...place, head })).filter(([event]) => isOfCheck(event))
            const held = (holder: string | null, until: Effect.Effect.Success<ReturnType<typeof clock.at>> | null) =>
              run(sql`update watches set holder = ${holder}, held_until = ${until} where merge_request_id = ${id}`)
            for (const [event, body] of bodiesAt("c".repeat(40))) {
              const before = yield* rings
              yield* held("a look of another machine", yield* clock.at(60_000))
              assert.strictEqual((yield* call(made, body, `${event} meanwhile`, event)).outcome, "accepted", event)
              assert.strictEqual(yield* rings, before + 1, event)
              yield* held(null, null)
            }
          })
      )

      it.scoped(`a hook of ${kind} rings its own connection, repository and merge request alone`, () =>
        Effect.gen(function* () {
          const { call, connection, get, hook, origin, place, principal, register, rings } = yield* ringed(kind)
          const before = yield* rings
          const { observed_at } = yield* get
          const mine = yield* hook()
          yield* register(mine.id, connection.id)
          const said = (other: Partial<Place>) => Object.values(bodies[kind]({ ...place, ...other }))
          const nothing = [
            ...others[kind](place),
            ...said({ repository: `${place.repository}-other` }),
            ...said({ number: place.number + 7, head: "b".repeat(40), branch: "another" })
          ]
          for (const [index, body] of nothing.entries())
            assert.strictEqual((yield* call(mine, body, `nothing ${index}`)).outcome, "ignored", JSON.stringify(body))

          const [body] = said({})
          if (body === undefined) return assert.fail("no body")
          assert.strictEqual(yield* codeOf(call({ ...mine, secret: "wrong" }, body, "forged")), "not_found")
          const elsewhere = yield* hook()
          yield* register(elsewhere.id, (yield* forgeConnection(kind, origin.base)).id)
          assert.strictEqual((yield* call(elsewhere, body, "elsewhere")).outcome, "ignored")
          const otherPlace = yield* hook()
          yield* register(otherPlace.id, connection.id, origin.url.replace(/\.git$/, "-other.git"))
          assert.strictEqual((yield* call(otherPlace, body, "other place")).outcome, "ignored")
          const { id: foreign } = yield* (yield* Workspaces).create(principal, { name: "Another" })
          assert.strictEqual((yield* call(yield* hook(foreign), body, "foreign")).outcome, "ignored")
          assert.strictEqual(yield* rings, before)
          assert.strictEqual((yield* get).observed_at, observed_at)

          // A hook that people made by hand names no connection. Forges write the name of a repository as they like.
          const byHand = yield* hook()
          const [shouted] = said({ repository: place.repository.toUpperCase() })
          for (const [index, each] of [body, shouted ?? {}].entries())
            assert.strictEqual((yield* call(byHand, each, `by hand ${index}`)).outcome, "accepted")
          assert.strictEqual(yield* rings, before + 2)
        })
      )
    }
  })
}
