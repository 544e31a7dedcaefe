import { createHmac } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import type { AutomationId } from "@reins/base/domain/Ids"
import { expireJob, fireJob, startJob } from "@reins/core/automations/AutomationJobs"
import type { AutomationInput } from "@reins/core/automations/AutomationsApi"
import { deliverJob } from "@reins/core/automations/RunDeliveries"
import { Cares } from "@reins/core/care/Cares"
import { captureJob } from "@reins/core/changes/CaptureJob"
import { Changesets } from "@reins/core/changes/Changesets"
import { Connections } from "@reins/core/connections/Connections"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { deliveryJob } from "@reins/core/deliveries/LoadedJobs"
import { HookReceiving } from "@reins/core/hooks/HookReceiving"
import { Hooks } from "@reins/core/hooks/Hooks"
import * as Worker from "@reins/core/jobs/Worker"
import { mergeJob, openMergeRequestJob } from "@reins/core/requests/LoadedJobs"
import { MergeRequests } from "@reins/core/requests/MergeRequests"
import { Database } from "@reins/core/store/Database"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { forgeConnection, remote } from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { put } from "@reins/testing/git/Fixture"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { services } from "@reins/testing/sessions/Services"
import { flowDatabases, forgeDatabases } from "@reins/testing/store/Databases"
import { forgesOn } from "@reins/testing/Volume"
import { Effect, Layer, Logger, type Scope } from "effect"
import { begin, end } from "../delegations/Children.js"
import { given, sessionOf } from "./Automated.js"

const quiet = Layer.provide(Logger.remove(Logger.defaultLogger))

/** A worker of everything but turns and captures, which a test moves. */
const working = Worker.layer(
  Effect.all([fireJob, startJob, expireJob, deliverJob, deliveryJob, openMergeRequestJob, mergeJob])
).pipe(quiet)

/** Waits until no job of some kinds is due. */
const until = (...kinds: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { first, sql } = yield* Database
    const open = Effect.suspend(() =>
      first(sql`select id from jobs where ${sql.or(kinds.map((kind) => sql`kind like ${kind}`))}
        and kind <> 'automation.expire' and state in ('queued', 'running', 'retry_wait') limit 1`)
    )
    yield* Effect.repeat(Effect.delay(open, "5 millis"), { until: (row) => row === undefined })
  })

const work = Effect.provide(until("automation.%", "delivery.%", "merge_request.%"), working)

/** The capture comes before anything else, as it does in the commit that ends a turn. */
const capture = Effect.provide(until("changeset.%"), Worker.layer(Effect.all([captureJob])).pipe(quiet))

/** The call of a forge when somebody labels an issue, with the proof of each kind of hook. */
const labelled = {
  github: {
    event: "issues",
    body: { action: "labeled", label: { name: "reins" }, issue: { number: 12, title: "The sum is wrong" } },
    headers: (bytes: Buffer, secret: string) => ({
      "x-github-event": "issues",
      "x-github-delivery": "d1",
      "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}`
    }),
    filter: [
      { pointer: "/action", is: "labeled" },
      { pointer: "/label/name", is: "reins" }
    ],
    closes: "/issue/number",
    pick: ["/issue/title"]
  },
  gitlab: {
    event: "Issue Hook",
    body: {
      object_kind: "issue",
      object_attributes: { iid: 12, title: "The sum is wrong", action: "update" },
      changes: { labels: { previous: [], current: [{ title: "reins" }] } }
    },
    headers: (_: Buffer, secret: string) => ({
      "x-gitlab-event": "Issue Hook",
      "idempotency-key": "d1",
      "x-gitlab-token": secret
    }),
    filter: [{ pointer: "/changes/labels/current/0/title", is: "reins" }],
    closes: "/object_attributes/iid",
    pick: ["/object_attributes/title"]
  },
  gitea: {
    event: "issues",
    body: { action: "label_updated", issue: { number: 12, title: "The sum is wrong", labels: [{ name: "reins" }] } },
    headers: (bytes: Buffer, secret: string) => ({
      "x-gitea-event": "issues",
      "x-gitea-delivery": "d1",
      "x-gitea-signature": createHmac("sha256", secret).update(bytes).digest("hex")
    }),
    filter: [
      { pointer: "/action", is: "label_updated" },
      { pointer: "/issue/labels/0/name", is: "reins" }
    ],
    closes: "/issue/number",
    pick: ["/issue/title"]
  }
} as const

/** A repository on a forge with a hook of it, an automation that it rings, and one labelled issue. */
const issueOn = (kind: KnownForge, more: Partial<AutomationInput> = {}) =>
  Effect.gen(function* () {
    const made = yield* given
    const origin = yield* remote(kind)
    const connection = yield* forgeConnection(kind, origin.base)
    const hook = yield* (yield* Hooks).create(made.principal, made.workspaceId, { kind, label: kind })
    const { body, closes, event, filter, headers, pick } = labelled[kind]
    const automation = yield* made.add({
      name: "Issues",
      trigger: { kind: "hook", hook_id: hook.id, events: [event], filter, pick },
      target: { kind: "new_session", message: "Mend what the issue says.", repository: { url: origin.url } },
      deliver: {
        title: "Mend the sum",
        connection_id: connection.id,
        merge_request: { draft: false, description: "It mends.", closes }
      },
      ...more
    })
    const bytes = Buffer.from(JSON.stringify(body))
    const given_: Readonly<Record<string, string>> = headers(bytes, hook.secret)
    const ring = Effect.flatMap(HookReceiving, (receiving) =>
      receiving.receive(hook.id, { header: (name) => given_[name], body: bytes })
    )
    return { ...made, automation, connection, hook, origin, ring }
  })

/** Does the turn of the newest run of an automation, as an agent that writes files would. */
const doTurn = (made: Effect.Effect.Success<typeof given>, id: AutomationId, files: Readonly<Record<string, string>>) =>
  Effect.gen(function* () {
    yield* work
    const [run] = yield* made.runsOf(id)
    const sessionId = yield* sessionOf(run ?? { session_id: null })
    yield* (yield* WorkingTrees).prepare(sessionId)
    const { workTree } = yield* pathsOf(sessionId)
    const turn = yield* begin(made.principal, sessionId)
    yield* end(made.principal, sessionId, "succeeded")
    for (const [path, content] of Object.entries(files)) put(workTree, path, content)
    yield* (yield* Changesets).capture(made.principal, sessionId, { source_turn_id: turn })
    yield* capture
    return run ?? (yield* Effect.dieMessage("no run"))
  })

/** A test on a database of its own. */
const ruleOn =
  (layer: (typeof flowDatabases)[number]["layer"]) =>
  (text: string, test: Effect.Effect<void, unknown, Layer.Layer.Success<ReturnType<typeof services>> | Scope.Scope>) =>
    it.scopedLive(
      text,
      () => test.pipe(Effect.provide(services(layer, { allowPrivateHosts: ["127.0.0.1"], prewarm: false }))),
      60_000
    )

for (const { layer, name } of forgeDatabases)
  describe(`deliveries of automations before forges on ${name}`, () => {
    for (const kind of forgesOn(name))
      ruleOn(layer)(
        `an issue with a label on ${kind} starts a session, whose merge request closes it`,
        Effect.gen(function* () {
          const made = yield* issueOn(kind)
          assert.strictEqual((yield* made.ring).outcome, "accepted")
          const { id } = yield* doTurn(made, made.automation.id, { "a.txt": "TWO\n" })
          yield* work
          const run = yield* made.runs.get(made.principal, id)
          assert.deepInclude(run, { state: "succeeded", kind: "hook", undelivered_reason: null }, JSON.stringify(run))
          const delivery = yield* (yield* Deliveries).get(made.principal, run.delivery_id ?? "")
          assert.deepInclude(delivery, { state: "succeeded", title: "Mend the sum" })
          assert.strictEqual(made.origin.headOf(delivery.target_ref), delivery.commit)
          const requests = yield* MergeRequests
          const request = yield* requests.get(made.principal, run.merge_request_id ?? "")
          assert.deepInclude(request, { state: "open", draft: false, title: "Mend the sum" })
          assert.strictEqual(request.description, "It mends.\n\nCloses #12")
          assert.lengthOf(made.origin.forge.pulls, 1)
          yield* requests.merge(made.principal, request.id, { expected_head_sha: delivery.commit ?? "" })
          yield* work
          assert.deepStrictEqual(made.origin.forge.closed, [12])
          // The same delivery of the forge does nothing more.
          assert.strictEqual((yield* made.ring).outcome, "duplicate")
          assert.lengthOf(yield* made.runsOf(made.automation.id), 1)
        })
      )
  })

for (const { layer, name } of flowDatabases) {
  describe(`deliveries of automations on ${name}`, () => {
    const rule = ruleOn(layer)

    rule(
      "the merge request of a run is cared for as its automation says",
      Effect.gen(function* () {
        const made = yield* issueOn("gitea")
        yield* made.automations.update(made.principal, made.automation.id, {
          deliver: { connection_id: made.connection.id, merge_request: { care: { checks: "fix", max_turns: 2 } } }
        })
        yield* made.ring
        const { id } = yield* doTurn(made, made.automation.id, { "a.txt": "TWO\n" })
        yield* work
        const run = yield* made.runs.get(made.principal, id)
        const care = yield* (yield* Cares).get(made.principal, run.merge_request_id ?? "")
        assert.deepInclude(care, { state: "watching", checks: "fix", reviews: "off", max_turns: 2 })
        assert.strictEqual(care.acts_for, made.automation.acts_for)
      })
    )

    rule(
      "a run without changes delivers nothing, and one of an automation that says nothing neither",
      Effect.gen(function* () {
        const made = yield* issueOn("gitea")
        yield* made.ring
        const { id } = yield* doTurn(made, made.automation.id, {})
        yield* work
        const empty = yield* made.runs.get(made.principal, id)
        assert.deepInclude(empty, { changeset_id: null, delivery_id: null, undelivered_reason: null })
        const silent = yield* made.automations.update(made.principal, made.automation.id, { deliver: null })
        assert.isNull(silent.deliver)
        yield* made.runs.start(made.principal, made.automation.id)
        const second = yield* doTurn(made, made.automation.id, { "a.txt": "TWO\n" })
        yield* work
        const run = yield* made.runs.get(made.principal, second.id)
        assert.isNotNull(run.changeset_id)
        assert.isNull(run.delivery_id)
      })
    )

    rule(
      "a refusal stands with the run: without a connection to the forge, and of an owner who may no longer write",
      Effect.gen(function* () {
        const made = yield* issueOn("github", { deliver: { merge_request: {} } })
        // An active one of the same host would be taken.
        yield* (yield* Connections).update(made.principal, made.connection.id, { state: "disabled" })
        yield* made.ring
        const { id } = yield* doTurn(made, made.automation.id, { "a.txt": "TWO\n" })
        yield* work
        const run = yield* made.runs.get(made.principal, id)
        assert.isNotNull(run.delivery_id)
        assert.deepInclude(run, { undelivered_reason: "connection_required", merge_request_id: null })

        yield* made.runs.start(made.principal, made.automation.id)
        const later = yield* doTurn(made, made.automation.id, { "a.txt": "THREE\n" })
        const { run: write, sql } = yield* Database
        yield* write(sql`update workspace_members set role = 'viewer' where workspace_id = ${made.workspaceId}`)
        yield* work
        yield* write(sql`update workspace_members set role = 'owner' where workspace_id = ${made.workspaceId}`)
        const lost = yield* made.runs.get(made.principal, later.id)
        assert.deepInclude(lost, { undelivered_reason: "owner_lost_access", delivery_id: null })
      })
    )

    rule(
      "an issue is closed by the merge request of a hook alone",
      Effect.gen(function* () {
        const { add } = yield* given
        const refused = yield* Effect.flip(add({ deliver: { merge_request: { closes: "/issue/number" } } }))
        assert.strictEqual(refused._tag, "RequestInvalid")
      })
    )
  })
}
