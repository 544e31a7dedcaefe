import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import type { Changeset } from "@reins/core/changes/Changeset"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import type { DeliveryInput } from "@reins/core/deliveries/DeliveriesApi"
import type { Delivery } from "@reins/core/deliveries/Delivery"
import * as Embedded from "@reins/core/Embedded"
import {
  codeOf,
  eventOf,
  forgeConnection,
  installation,
  operationEnd,
  remote,
  workspace
} from "@reins/testing/changes/Fixture"
import { plainGit } from "@reins/testing/git/Fixture"
import { ownerWithConnection } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { restOn, variants } from "@reins/testing/Variants"
import { Effect } from "effect"

const ends = ["delivery.succeeded", "delivery.failed", "delivery.blocked", "delivery.cancelled"]

/** Waits for the end of the operation of an answer, and reads the delivery again. */
const ended = (answer: { readonly delivery: Delivery; readonly event_watermark: number }) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    yield* eventOf(answer.delivery.session_id, answer.event_watermark, ...ends)
    return yield* (yield* Deliveries).get(principal, answer.delivery.id)
  })

const deliver = (changeset: Changeset, input: DeliveryInput = {}) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    return yield* Effect.flatMap((yield* Deliveries).request(principal, changeset.id, input), ended)
  })

const refreshed = (delivery: Delivery) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const deliveries = yield* Deliveries
    const { operation } = yield* deliveries.refresh(principal, delivery.id)
    yield* operationEnd(operation.id)
    return yield* deliveries.get(principal, delivery.id)
  })

for (const { layer: database, name } of databases) {
  layer(installation(database), { excludeTestServices: true })(`deliveries on ${name}`, (it) => {
    it.scoped("a branch is pushed and observed, and a refresh sees what becomes of it", () =>
      Effect.gen(function* () {
        const origin = yield* remote()
        const { change } = yield* workspace(origin.url)
        const changeset = yield* change({ "a.txt": "ONE\n" })
        const delivery = yield* deliver(changeset)
        assert.strictEqual(delivery.state, "succeeded", JSON.stringify(delivery))
        assert.strictEqual(delivery.observed_head, delivery.commit)
        assert.strictEqual(origin.headOf(delivery.target_ref), delivery.commit)
        const moved = origin.commitOn(delivery.target_ref, "c.txt", "theirs\n")
        const seen = yield* refreshed(delivery)
        assert.deepInclude(seen, { state: "succeeded", observed_head: moved, commit: delivery.commit })
        assert.deepInclude(seen.steps.at(-1), { kind: "observe", outcome: "succeeded" })
        origin.git("update-ref", "-d", `refs/heads/${delivery.target_ref}`)
        assert.isNull((yield* refreshed(seen)).observed_head)
      })
    )

    restOn(name)(() => {
      it.scoped(
        "a branch that has moved on blocks; what was seen then, and only that, is replaced when that is asked for",
        () =>
          Effect.gen(function* () {
            const origin = yield* remote()
            const { change, principal } = yield* workspace(origin.url)
            const theirs = origin.commitOn("feature", "c.txt", "theirs\n")
            const deliveries = yield* Deliveries
            const changeset = yield* change({ "a.txt": "ONE\n" })
            const blocked = yield* deliver(changeset, { target_ref: "feature" })
            assert.deepInclude(blocked, { state: "blocked", reason: "remote_head_changed", observed_head: theirs })
            const again = yield* Effect.flatMap(deliveries.refresh(principal, blocked.id), ended)
            assert.deepInclude(again, { state: "blocked", reason: "remote_head_changed" })
            // Nobody has looked at this commit yet.
            const newer = origin.commitOn("feature", "d.txt", "newer\n")
            const forced = { target_ref: "refs/heads/feature", update_strategy: "force_with_lease" as const }
            const refused = yield* deliver(changeset, forced)
            assert.deepInclude(refused, { id: blocked.id, state: "blocked", observed_head: newer })
            assert.strictEqual(origin.headOf("feature"), newer)
            const done = yield* Effect.flatMap(deliveries.retry(principal, blocked.id), ended)
            assert.deepInclude(done, { state: "succeeded", reason: null })
            assert.strictEqual(origin.headOf("feature"), done.commit)
            // The next changeset of the session replaces the commit that the session itself has put there.
            const next = yield* deliver(yield* change({ "a.txt": "UNO\n" }), forced)
            assert.strictEqual(next.state, "succeeded", JSON.stringify(next))
            assert.strictEqual(origin.headOf("feature"), next.commit)
          })
      )

      variants(() => {
        it.scoped("a branch that was never seen is not replaced, though force_with_lease was asked for at once", () =>
          Effect.gen(function* () {
            const origin = yield* remote()
            const { change } = yield* workspace(origin.url)
            const theirs = origin.commitOn("feature", "c.txt", "theirs\n")
            const delivery = yield* deliver(yield* change({ "a.txt": "ONE\n" }), {
              target_ref: "feature",
              update_strategy: "force_with_lease"
            })
            assert.deepInclude(delivery, { state: "blocked", observed_head: theirs })
            assert.strictEqual(origin.headOf("feature"), theirs)
          })
        )
      })

      it.scoped("a remote that wants a credential blocks with auth_required until a refresh finds it open", () =>
        Effect.gen(function* () {
          const origin = yield* remote()
          const { change, principal } = yield* workspace(origin.url)
          const changeset = yield* change({ "a.txt": "ONE\n" })
          origin.gate.closed = true
          const blocked = yield* deliver(changeset)
          assert.deepInclude(blocked, { state: "blocked", reason: "auth_required" })
          origin.gate.closed = false
          const done = yield* Effect.flatMap((yield* Deliveries).refresh(principal, blocked.id), ended)
          assert.strictEqual(done.state, "succeeded", JSON.stringify(done))
        })
      )

      it.scoped("a refusal of the remote blocks at the first attempt, with its reason and its words", () =>
        Effect.gen(function* () {
          const origin = yield* remote()
          const { change } = yield* workspace(origin.url)
          const changeset = yield* change({ "a.txt": "ONE\n" })
          const said = "GitLab: You are not allowed to push code to protected branches on this project."
          origin.hook(`echo '${said}' >&2; exit 1`)
          const declined = yield* deliver(changeset, { target_ref: "declined" })
          assert.deepInclude(declined, { state: "blocked", reason: "branch_protected" })
          assert.include(declined.reason_message ?? "", said)
          origin.gate.status = 422
          const refused = yield* deliver(changeset, { target_ref: "refused" })
          assert.deepInclude(refused, { state: "blocked", reason: "rejected" })
          assert.include(refused.reason_message ?? "", "HTTP 422")
          for (const { steps } of [declined, refused]) assert.strictEqual(steps.at(-1)?.attempt, 1)
          assert.deepInclude(refused.steps.at(-1)?.detail, { kind: "rejected", http_status: 422 })
          origin.gate.status = 404
          assert.deepInclude(yield* deliver(changeset, { target_ref: "gone" }), {
            state: "blocked",
            reason: "repository_not_found"
          })
        })
      )

      variants(() => {
        it.scoped("a branch of the remote in the way of the default one moves it aside, once; a named one blocks", () =>
          Effect.gen(function* () {
            const origin = yield* remote()
            const { change, principal, session } = yield* workspace(origin.url)
            const changeset = yield* change({ "a.txt": "ONE\n" })
            origin.git("branch", "reins", "main")
            origin.git("branch", "taken/by", "main")
            const delivery = yield* deliver(changeset)
            const fitting = `reins-${session.id}-${changeset.id}`
            assert.deepInclude(delivery, { state: "succeeded", target_ref: fitting }, JSON.stringify(delivery))
            assert.strictEqual(origin.headOf(fitting), delivery.commit)
            const again = yield* (yield* Deliveries).request(principal, changeset.id, {})
            assert.strictEqual(again.delivery.id, delivery.id)
            for (const [target_ref, other] of [
              ["reins/mine", "reins"],
              ["taken", "taken/by"]
            ] as const) {
              const blocked = yield* deliver(changeset, { target_ref })
              assert.deepInclude(blocked, { state: "blocked", reason: "branch_in_the_way", target_ref })
              assert.include(blocked.reason_message ?? "", `"${other}"`)
              assert.include(blocked.reason_message ?? "", "another target_ref")
            }
          })
        )
      })

      it.scoped("a delivery that has not pushed yet is cancelled for good", () =>
        Effect.gen(function* () {
          const origin = yield* remote()
          const { change, principal, session } = yield* workspace(origin.url)
          const deliveries = yield* Deliveries
          const changeset = yield* change({ "a.txt": "ONE\n" })
          const asked = yield* Effect.makeLatch(false)
          origin.gate.silent = true
          origin.gate.asked = () => void asked.unsafeOpen()
          const { delivery, event_watermark: after, operation } = yield* deliveries.request(principal, changeset.id, {})
          yield* asked.await
          assert.strictEqual((yield* deliveries.cancel(principal, delivery.id)).delivery.state, "executing")
          yield* eventOf(session.id, after, "delivery.cancelled")
          assert.strictEqual((yield* operationEnd(operation.id)).state, "cancelled")
          assert.strictEqual(yield* codeOf(deliveries.retry(principal, delivery.id)), "invalid_transition")
          assert.isUndefined(origin.headOf(delivery.target_ref))
        })
      )

      it.scoped("the token of a forge is not sent to a repository on another host", () =>
        Effect.gen(function* () {
          const origin = yield* remote()
          const { change } = yield* workspace(origin.url)
          const elsewhere = yield* forgeConnection("gitea", "https://git.example.com")
          const changeset = yield* change({ "a.txt": "ONE\n" })
          const before = origin.seen.length
          const delivery = yield* deliver(changeset, { connection_id: elsewhere.id })
          assert.deepInclude(delivery, { state: "blocked", reason: "auth_required" })
          assert.strictEqual(origin.seen.length, before)
          const own = yield* forgeConnection("gitea", origin.base)
          assert.strictEqual((yield* deliver(changeset, { connection_id: own.id })).state, "succeeded")
        })
      )

      it.scoped("an empty changeset fails, and a patch is the change itself", () =>
        Effect.gen(function* () {
          const { change } = yield* workspace()
          const empty = yield* change({})
          assert.isTrue(empty.empty)
          assert.deepInclude(yield* deliver(empty), { state: "failed", reason: "empty_changeset" })
          const delivery = yield* deliver(yield* change({ "new.txt": "new\n" }))
          assert.deepInclude(delivery, { state: "succeeded", transport: "patch" })
          assert.include(delivery.patch ?? "", "+new")
        })
      )

      it.scoped("a patch brings every byte, also of text that is not UTF-8 or holds a NUL far down", () =>
        Effect.gen(function* () {
          const origin = yield* remote()
          const { change, workTree } = yield* workspace(origin.url)
          const contents = {
            "latin1.txt": Buffer.from("Stra\xdfe\n", "latin1"),
            "late.txt": Buffer.from(`${"line\n".repeat(4000)}\0\n`),
            "plain.txt": Buffer.from("plain\n"),
            "schön.txt": Buffer.from("schön\n")
          }
          for (const [path, bytes] of Object.entries(contents)) writeFileSync(join(workTree, path), bytes)
          const delivery = yield* deliver(yield* change({ "b.txt": "TWO\n" }), { transport: "patch" })
          assert.strictEqual(delivery.state, "succeeded", JSON.stringify(delivery.reason_message))
          assert.include(delivery.patch ?? "", "+schön")
          const target = mkdtempSync(join(tmpdir(), "reins-test-"))
          plainGit(target, "init", "--quiet")
          writeFileSync(join(target, "b.txt"), "two\n")
          writeFileSync(`${target}.patch`, delivery.patch ?? "")
          plainGit(target, "apply", `${target}.patch`)
          for (const [path, bytes] of Object.entries(contents))
            assert.isTrue(readFileSync(join(target, path)).equals(bytes), path)
          assert.strictEqual(readFileSync(join(target, "b.txt"), "utf8"), "TWO\n")
          rmSync(target, { recursive: true })
          rmSync(`${target}.patch`)
        })
      )

      it.scoped("what cannot be a branch is a malformed request; a connection of another kind is refused", () =>
        Effect.gen(function* () {
          const origin = yield* remote()
          const { change, principal } = yield* workspace(origin.url)
          const deliveries = yield* Deliveries
          const changeset = yield* change({ "a.txt": "ONE\n" })
          for (const target_ref of ["a..b", "-x", "a b", "x.lock", "refs/heads/"]) {
            const error = yield* Effect.flip(deliveries.request(principal, changeset.id, { target_ref }))
            assert.instanceOf(error, RequestInvalid, target_ref)
          }
          const { connection } = yield* ownerWithConnection
          const request = deliveries.request(principal, changeset.id, { connection_id: connection.id })
          assert.strictEqual(yield* codeOf(request), "connection_required")
        })
      )
    })
  })
}
