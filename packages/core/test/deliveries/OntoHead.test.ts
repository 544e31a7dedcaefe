import { assert, layer } from "@effect/vitest"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import type { Changeset } from "@reins/core/changes/Changeset"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import type { DeliveryInput } from "@reins/core/deliveries/DeliveriesApi"
import * as Embedded from "@reins/core/Embedded"
import { attempt, unworked } from "@reins/testing/changes/DeliveryAttempts"
import { codeOf, eventOf, installation, remote, workspace } from "@reins/testing/changes/Fixture"
import { flowDatabases } from "@reins/testing/store/Databases"
import { variants } from "@reins/testing/Variants"
import { Effect, Exit } from "effect"

const ends = ["delivery.succeeded", "delivery.failed", "delivery.blocked", "delivery.cancelled"]

const deliver = (changeset: Changeset, input: DeliveryInput = {}) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const deliveries = yield* Deliveries
    const { delivery, event_watermark } = yield* deliveries.request(principal, changeset.id, input)
    yield* eventOf(delivery.session_id, event_watermark, ...ends)
    return yield* deliveries.get(principal, delivery.id)
  })

const onto = { onto: "head" } as const

/** A session with a first delivery, on a remote that refuses to move a branch backwards. */
const delivered = Effect.gen(function* () {
  const origin = yield* remote()
  origin.git("config", "receive.denyNonFastForwards", "true")
  const files = yield* workspace(origin.url)
  const first = yield* deliver(yield* files.change({ "a.txt": "ONE\n" }))
  assert.deepInclude(first, { state: "succeeded", onto: "base" }, JSON.stringify(first))
  const branch = first.target_ref
  const show = (path: string) => origin.git("show", `${branch}:${path}`)
  /** The subjects of the commits on the branch that `main` does not have. */
  const log = () => origin.git("log", "--format=%s", `main..${branch}`).split("\n")
  return { ...files, origin, first, branch, show, log }
})

/** A first attempt ends after its push, and another one follows. */
const diesAfterPush = (since: "nothing" | "a commit of a person") =>
  Effect.gen(function* () {
    const { branch, change, log, origin } = yield* delivered
    const given = yield* unworked(yield* change({ "a.txt": `${since}\n` }), origin.url, branch, "head")
    const before = log().length
    let isPushed = false
    origin.gate.asked = (method, url) => {
      if (method === "POST" && url.endsWith("/git-receive-pack")) isPushed = true
    }
    assert.isTrue(Exit.isFailure((yield* attempt(given, 1, () => isPushed)).exit))
    origin.gate.asked = () => {}
    const made = origin.headOf(branch) ?? null
    if (since !== "nothing") origin.commitOn(branch, "c.txt", "theirs\n")
    const { delivery } = yield* attempt(given, 2)
    assert.deepInclude(delivery, { state: "succeeded", commit: made, observed_head: origin.headOf(branch) ?? null })
    assert.lengthOf(log(), before + (since === "nothing" ? 1 : 2))
  })

for (const { layer: database, name } of flowDatabases) {
  layer(installation(database), { excludeTestServices: true })(`deliveries onto the head on ${name}`, (it) => {
    it.scoped("the next changesets go on top of the open branch, and of what people have pushed there", () =>
      Effect.gen(function* () {
        const { branch, change, first, log, origin, show } = yield* delivered
        const second = yield* deliver(yield* change({ "a.txt": "TWO\n" }), onto)
        assert.deepInclude(second, { state: "succeeded", onto: "head", target_ref: branch }, JSON.stringify(second))
        assert.deepStrictEqual(second.parents, [first.commit ?? ""])
        const theirs = origin.commitOn(branch, "theirs.txt", "theirs\n")
        const third = yield* deliver(yield* change({ "a.txt": "THREE\n" }), { ...onto, target_ref: branch })
        assert.deepStrictEqual(third.parents, [theirs])
        // The work of the session never had their file, and the next delivery keeps it all the same.
        const fourth = yield* deliver(yield* change({ "c.txt": "c\n" }), onto)
        assert.strictEqual(origin.headOf(branch), fourth.commit)
        assert.deepStrictEqual(["a.txt", "b.txt", "c.txt", "theirs.txt"].map(show), ["THREE", "two", "c", "theirs"])
        const ours = "Fix the sum"
        assert.deepStrictEqual(log(), [ours, ours, "theirs.txt", ours, ours])
      })
    )

    it.scoped("a conflict is blocked with its paths, and goes on once the branch has room for it", () =>
      Effect.gen(function* () {
        const { branch, change, log, origin, principal } = yield* delivered
        const theirs = origin.commitOn(branch, "a.txt", "theirs\n")
        const blocked = yield* deliver(yield* change({ "a.txt": "TWO\n" }), onto)
        assert.deepInclude(blocked, { state: "blocked", reason: "merge_conflict", observed_head: theirs })
        assert.deepStrictEqual(blocked.conflicts, ["a.txt"])
        assert.match(blocked.reason_message ?? "", /have both changed 1 file: "a.txt"/)
        assert.strictEqual(origin.headOf(branch), theirs)
        origin.commitOn(branch, "a.txt", "ONE\n")
        const deliveries = yield* Deliveries
        const again = yield* deliveries.retry(principal, blocked.id)
        yield* eventOf(again.delivery.session_id, again.event_watermark, ...ends)
        assert.deepInclude(yield* deliveries.get(principal, blocked.id), { state: "succeeded", conflicts: [] })
        assert.strictEqual(log()[0], "Fix the sum")
      })
    )

    it.scoped("somebody who is faster each time is not overwritten, and once is no matter", () =>
      Effect.gen(function* () {
        const { branch, change, origin } = yield* delivered
        let left = 1
        let pushed = ""
        origin.gate.asked = (_method, url) => {
          // The push has looked at the branch already.
          if (!url.includes("service=git-receive-pack") || left === 0) return
          left--
          pushed = origin.commitOn(branch, `theirs-${left}.txt`, "theirs\n")
        }
        const second = yield* deliver(yield* change({ "a.txt": "TWO\n" }), onto)
        assert.deepInclude(second, { state: "succeeded" }, JSON.stringify(second))
        assert.deepStrictEqual(second.parents, [pushed])
        left = 5
        const blocked = yield* deliver(yield* change({ "a.txt": "THREE\n" }), onto)
        assert.deepInclude(blocked, { state: "blocked", reason: "remote_head_changed" }, JSON.stringify(blocked))
        assert.strictEqual(left, 2)
        assert.strictEqual(origin.headOf(branch), pushed)
      })
    )

    it.scoped("an attempt that died between its push and its row leaves one commit, also below one of a person", () =>
      diesAfterPush("a commit of a person")
    )
    variants(() => {
      it.scoped("an attempt that died between its push and its row leaves one commit", () => diesAfterPush("nothing"))
    })

    variants(() => {
      it.scoped("an attempt that died before its push makes the same commit again", () =>
        Effect.gen(function* () {
          const { branch, change, origin } = yield* delivered
          const given = yield* unworked(yield* change({ "a.txt": "TWO\n" }), origin.url, branch, "head")
          let isReady = false
          origin.gate.asked = (_method, url) => {
            if (url.includes("service=git-receive-pack")) isReady = origin.gate.cut = true
          }
          const first = yield* attempt(given, 1, () => isReady)
          origin.gate.asked = () => {}
          origin.gate.cut = false
          const { delivery } = yield* attempt(given, 2)
          const made = first.delivery.steps.find(({ kind }) => kind === "materialize")?.detail["commit"]
          assert.isString(made)
          assert.deepInclude(delivery, { state: "succeeded", commit: String(made) })
        })
      )
    })

    variants(() => {
      it.scoped("a branch that is gone blocks, and one whose commits were replaced takes what merges", () =>
        Effect.gen(function* () {
          const { branch, change, origin, show } = yield* delivered
          origin.git("config", "receive.denyNonFastForwards", "false")
          origin.git("update-ref", `refs/heads/${branch}`, "main")
          const replaced = origin.commitOn(branch, "a.txt", "ONE\n")
          const second = yield* deliver(yield* change({ "b.txt": "TWO\n" }), onto)
          assert.deepInclude(second, { state: "succeeded" }, JSON.stringify(second))
          assert.deepStrictEqual(second.parents, [replaced])
          assert.deepStrictEqual(["a.txt", "b.txt"].map(show), ["ONE", "TWO"])
          origin.git("update-ref", "-d", `refs/heads/${branch}`)
          const gone = yield* deliver(yield* change({ "b.txt": "THREE\n" }), onto)
          assert.deepInclude(gone, { state: "blocked", reason: "branch_gone", observed_head: null })
        })
      )

      it.scoped(
        "a changeset that adds nothing to the branch is no commit; a delivery on the base may turn to the head",
        () =>
          Effect.gen(function* () {
            const { branch, change, first, origin } = yield* delivered
            const same = yield* deliver(yield* change({}), onto)
            assert.deepInclude(same, { state: "failed", reason: "empty_changeset" })
            const next = yield* change({ "a.txt": "TWO\n" })
            const blocked = yield* deliver(next, { target_ref: branch })
            assert.deepInclude(blocked, { state: "blocked", reason: "remote_head_changed" })
            const done = yield* deliver(next, onto)
            assert.deepInclude(done, { id: blocked.id, state: "succeeded", onto: "head" })
            assert.deepStrictEqual(done.parents, [first.commit ?? ""])
            // The changes are taken back on the branch too.
            const undone = yield* deliver(yield* change({ "a.txt": "one\n" }), onto)
            assert.deepInclude(undone, { state: "succeeded" })
            assert.strictEqual(origin.git("diff", "--stat", "main", branch), "")
          })
      )
    })

    it.scoped("a head that nobody has delivered is refused, and so is what has no head", () =>
      Effect.gen(function* () {
        const origin = yield* remote()
        const { change, principal } = yield* workspace(origin.url)
        const changeset = yield* change({ "a.txt": "ONE\n" })
        const deliveries = yield* Deliveries
        const request = (input: DeliveryInput) => deliveries.request(principal, changeset.id, { ...onto, ...input })
        assert.strictEqual(yield* codeOf(request({})), "invalid_transition")
        assert.strictEqual(yield* codeOf(request({ target_ref: "main" })), "invalid_transition")
        for (const input of [{ transport: "patch" }, { update_strategy: "force_with_lease" }] as const) {
          const refused = yield* Effect.flip(request(input))
          assert.instanceOf(refused, RequestInvalid)
        }
        assert.strictEqual(origin.headOf("main"), origin.git("rev-parse", "HEAD"))
      })
    )
  })
}
