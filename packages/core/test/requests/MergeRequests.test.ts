import { assert, layer } from "@effect/vitest"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Connections } from "@reins/core/connections/Connections"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import type { Delivery } from "@reins/core/deliveries/Delivery"
import * as Embedded from "@reins/core/Embedded"
import { JobStore } from "@reins/core/jobs/JobStore"
import { Jobs } from "@reins/core/jobs/Jobs"
import { MergeRequests } from "@reins/core/requests/MergeRequests"
import type { MergeInput } from "@reins/core/requests/RequestInputs"
import type { MergeRequestInput } from "@reins/core/requests/RequestsApi"
import type { MergeRequest } from "@reins/core/requests/rows/MergeRequest"
import {
  codeOf,
  eventOf,
  forgeConnection,
  installation,
  operationEnd,
  remote,
  token,
  workspace
} from "@reins/testing/changes/Fixture"
import type { KnownForge } from "@reins/testing/forge/ForgeDialects"
import { everythingStored } from "@reins/testing/identity/Identity"
import { forgeDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { forgesOn } from "@reins/testing/Volume"
import { Effect } from "effect"

/** A branch that a session has delivered to a forge, through a connection to it. */
const delivered = (kind: KnownForge, secret = token, target_ref?: string) =>
  Effect.gen(function* () {
    const origin = yield* remote(kind)
    const { change, principal, session } = yield* workspace(origin.url)
    const connection = yield* forgeConnection(kind, origin.base, secret)
    const changeset = yield* change({ "a.txt": "ONE\n" })
    const deliveries = yield* Deliveries
    const answer = yield* deliveries.request(principal, changeset.id, {
      connection_id: connection.id,
      ...(target_ref !== undefined && { target_ref })
    })
    yield* eventOf(session.id, answer.event_watermark, "delivery.succeeded", "delivery.blocked", "delivery.failed")
    const delivery = yield* deliveries.get(principal, answer.delivery.id)
    assert.strictEqual(delivery.state, "succeeded", JSON.stringify(delivery))
    return { origin, principal, session, connection, changeset, delivery, change }
  })

const opened = (delivery: Delivery, input: MergeRequestInput = {}) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const mergeRequests = yield* MergeRequests
    const { event_watermark: after, merge_request: request } = yield* mergeRequests.open(principal, delivery.id, input)
    assert.strictEqual(request.state, "pending")
    yield* eventOf(delivery.session_id, after, "merge_request.opened", "merge_request.failed")
    return yield* mergeRequests.get(principal, request.id)
  })

const merged = (request: MergeRequest, input: MergeInput) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const mergeRequests = yield* MergeRequests
    const answer = yield* mergeRequests.merge(principal, request.id, input)
    const { state } = yield* operationEnd(answer.operation.id)
    return { request: yield* mergeRequests.get(principal, request.id), operation: state }
  })

const refreshed = (request: MergeRequest) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const { operation } = yield* (yield* Deliveries).refresh(principal, request.delivery_id)
    yield* operationEnd(operation.id)
    return yield* (yield* MergeRequests).get(principal, request.id)
  })

for (const { layer: database, name } of forgeDatabases) {
  layer(installation(database), { excludeTestServices: true })(`merge requests on ${name}`, (it) => {
    for (const kind of forgesOn(name)) {
      it.scoped(`a delivered branch is opened on ${kind}, and merged at exactly its head`, () =>
        Effect.gen(function* () {
          // Names that git allows go to the API of the forge and to git alike.
          const branch = `fix/#1;${kind}&a=%2F+"it's"@\u{1f600}-${"é".repeat(60)}`
          const { connection, delivery, origin, principal } = yield* delivered(kind, token, branch)
          assert.strictEqual(origin.headOf(branch), delivery.commit)
          const request = yield* opened(delivery, { description: "It adds.", draft: false })
          assert.deepInclude(request, {
            state: "open",
            forge: kind,
            repository: origin.repository,
            number: 1,
            base_branch: "main",
            head_branch: delivery.target_ref,
            title: "Fix the sum",
            head_sha: delivery.commit,
            draft: false,
            adopted: false
          })
          assert.strictEqual(origin.forge.pulls[0]?.body, `It adds.\n\nReins-Delivery: ${delivery.id}`)
          const mergeRequests = yield* MergeRequests
          const again = yield* mergeRequests.open(principal, delivery.id, {})
          assert.strictEqual(again.merge_request.id, request.id)
          // Its first look may end between two reads.
          const { items } = yield* mergeRequests.list(principal, delivery.id, {})
          assert.deepStrictEqual(
            items.map(({ id }) => id),
            [request.id]
          )

          const other = "0".repeat(40)
          const refused = mergeRequests.merge(principal, request.id, { expected_head_sha: other })
          assert.strictEqual(yield* codeOf(refused), "remote_head_changed")
          const moved = origin.commitOn(delivery.target_ref, "c.txt", "theirs\n")
          // A look may have seen the other head before the merge is asked for.
          const late = yield* Effect.either(merged(request, { expected_head_sha: delivery.commit ?? "" }))
          if (late._tag === "Left") assert.propertyVal(late.left, "code", "remote_head_changed")
          else {
            assert.strictEqual(late.right.operation, "failed")
            assert.deepInclude(late.right.request, { state: "open", reason: "remote_head_changed", head_sha: moved })
          }
          const done = yield* merged(request, { expected_head_sha: moved, method: "squash" })
          assert.strictEqual(done.operation, "succeeded")
          assert.deepInclude(done.request, { state: "merged", reason: null })
          assert.strictEqual(origin.headOf("main"), moved)
          const twice = mergeRequests.merge(principal, request.id, { expected_head_sha: moved })
          assert.strictEqual(yield* codeOf(twice), "invalid_transition")
          assert.strictEqual((yield* (yield* Connections).get(principal, connection.id)).health, "ready")
          assert.notInclude(yield* everythingStored, token)
        })
      )
    }

    it.scoped("an open one of somebody else is adopted, and none is opened beside it", () =>
      Effect.gen(function* () {
        const { delivery, origin } = yield* delivered("gitlab")
        origin.forge.add({ head: delivery.target_ref, base: "main", title: "theirs", number: 7 })
        const request = yield* opened(delivery)
        assert.deepInclude(request, { state: "open", number: 7, adopted: true, draft: false })
        assert.strictEqual(origin.forge.pulls.length, 1)
      })
    )

    it.scoped("one that was opened although its answer was lost is found again as our own", () =>
      Effect.gen(function* () {
        const { delivery, origin, principal } = yield* delivered("github")
        origin.forge.canned.push({ status: 200, body: "[]" }, { status: 502, body: "bad gateway", after: true })
        const request = yield* opened(delivery)
        assert.deepInclude(request, { state: "open", number: 1, adopted: false, draft: true })
        assert.strictEqual(origin.forge.pulls.length, 1)
        const jobs = yield* Jobs
        const [job] = (yield* jobs.operation(principal, (yield* (yield* JobStore).newestOf(request.id)).id)).jobs
        assert.deepStrictEqual(
          job?.attempts.map(({ state }) => state),
          ["unknown", "succeeded"]
        )
      })
    )

    it.scoped("a long list of merge requests is read to its end", () =>
      Effect.gen(function* () {
        const { delivery, origin } = yield* delivered("gitea")
        origin.forge.canned.push({ status: 200, body: `[${" ".repeat(3 * 1024 * 1024)}]` })
        assert.deepInclude(yield* opened(delivery), { state: "open", number: 1 })
        assert.lengthOf(
          origin.forge.seen.filter(({ method, path }) => method === "GET" && path.includes("state=open")),
          1
        )
      })
    )

    variants(() => {
      it.scoped("one that somebody opens between the look and the request is adopted", () =>
        Effect.gen(function* () {
          const { delivery, origin } = yield* delivered("gitea")
          origin.forge.add({ head: delivery.target_ref, base: "main" })
          // The first look finds nothing, as if somebody opened the merge request right after it.
          origin.forge.canned.push({ status: 200, body: "[]" })
          assert.deepInclude(yield* opened(delivery), { state: "open", number: 1, adopted: true })
          assert.strictEqual(origin.forge.pulls.length, 1)
        })
      )
    })

    it.scoped("a refresh sees what was merged or closed elsewhere", () =>
      Effect.gen(function* () {
        const { delivery, origin } = yield* delivered("gitea")
        const request = yield* opened(delivery, { title: "One" })
        const head = origin.commitOn(delivery.target_ref, "c.txt", "theirs\n")
        assert.deepInclude(yield* refreshed(request), { state: "open", head_sha: head })
        const [pull] = origin.forge.pulls
        if (pull !== undefined) pull.state = "closed"
        assert.strictEqual((yield* refreshed(request)).state, "closed")
        const second = yield* opened(delivery, { title: "Two" })
        assert.deepInclude(second, { state: "open", number: 2 })
        const other = origin.forge.pulls[1]
        if (other !== undefined) other.state = "merged"
        assert.strictEqual((yield* refreshed(second)).state, "merged")
      })
    )

    it.scoped("a token that is not taken fails with auth_required and says so of the connection", () =>
      Effect.gen(function* () {
        const { connection, delivery, principal } = yield* delivered("github", "a-wrong-token-canary-7Kq")
        const request = yield* opened(delivery)
        assert.deepInclude(request, { state: "failed", reason: "auth_required" })
        assert.strictEqual((yield* (yield* Connections).get(principal, connection.id)).health, "reauth_required")
        assert.notInclude(yield* everythingStored, "a-wrong-token-canary-7Kq")
      })
    )

    it.scoped("a draft is not merged and stays open; a method that the forge lacks is refused", () =>
      Effect.gen(function* () {
        const { delivery, principal } = yield* delivered("gitlab")
        const request = yield* opened(delivery)
        const expected_head_sha = delivery.commit ?? ""
        const { operation, request: after } = yield* merged(request, { expected_head_sha })
        assert.strictEqual(operation, "failed")
        assert.deepInclude(after, { state: "open", reason: "not_mergeable" })
        const rebase = (yield* MergeRequests).merge(principal, request.id, { expected_head_sha, method: "rebase" })
        assert.strictEqual(yield* codeOf(rebase), "unsupported_capability")
      })
    )

    it.scoped(
      "one that nobody has named a method for is merged by one that the rules take, and a named method is kept",
      () =>
        Effect.gen(function* () {
          const { delivery, origin } = yield* delivered("github")
          const request = yield* opened(delivery, { draft: false })
          const expected_head_sha = delivery.commit ?? ""
          origin.forge.demands.repository = {
            allow_merge_commit: false,
            allow_squash_merge: true,
            allow_rebase_merge: false
          }
          const named = yield* merged(request, { expected_head_sha, method: "merge" })
          assert.strictEqual(named.operation, "failed")
          assert.deepInclude(named.request, { state: "open", reason: "not_mergeable" })
          assert.include(named.request.reason_message, "Merge commits are not allowed")
          const any = yield* merged(request, { expected_head_sha })
          assert.strictEqual(any.operation, "succeeded", JSON.stringify(any.request))
          assert.deepInclude(any.request, { state: "merged", reason: null })
        })
    )

    it.scoped("only a delivered branch with a connection to its own forge becomes one", () =>
      Effect.gen(function* () {
        const origin = yield* remote("gitea")
        const { change, principal } = yield* workspace(origin.url)
        const deliveries = yield* Deliveries
        const mergeRequests = yield* MergeRequests
        const changeset = yield* change({ "a.txt": "ONE\n" })
        const patch = yield* deliveries.request(principal, changeset.id, { transport: "patch" })
        const open = (id: string, input: MergeRequestInput = {}) => mergeRequests.open(principal, id, input)
        assert.strictEqual(yield* codeOf(open(patch.delivery.id)), "invalid_transition")
        const { delivery, operation } = yield* deliveries.request(principal, changeset.id, {})
        assert.strictEqual(yield* codeOf(open(delivery.id)), "delivery_unresolved")
        yield* operationEnd(operation.id)
        assert.strictEqual(yield* codeOf(open(delivery.id)), "connection_required")
        const bad = yield* Effect.flip(open(delivery.id, { base_branch: "a..b" }))
        assert.instanceOf(bad, RequestInvalid)
        assert.deepStrictEqual(origin.forge.seen, [])
      })
    )
  })
}
