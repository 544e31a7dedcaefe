import { assert, layer } from "@effect/vitest"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { attempt, unworked } from "@reins/testing/changes/DeliveryAttempts"
import { eventOf, installation, operationEnd, remote, workspace } from "@reins/testing/changes/Fixture"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Exit } from "effect"

for (const { layer: database, name } of flowDatabases) {
  layer(installation(database), { excludeTestServices: true })(`deliveries on ${name}`, (it) => {
    it.scoped("a push that was taken is a success, though nobody can look at the branch afterwards", () =>
      Effect.gen(function* () {
        const origin = yield* remote()
        const { change, principal, session } = yield* workspace(origin.url)
        const deliveries = yield* Deliveries
        const changeset = yield* change({ "a.txt": "ONE\n" })
        let isPushed = false
        origin.gate.asked = (method, url) => {
          if (isPushed) origin.gate.closed = true
          if (method === "POST" && url.endsWith("/git-receive-pack")) isPushed = true
        }
        const { delivery, event_watermark: after } = yield* deliveries.request(principal, changeset.id, {})
        yield* eventOf(session.id, after, "delivery.succeeded", "delivery.failed", "delivery.blocked")
        const done = yield* deliveries.get(principal, delivery.id)
        assert.strictEqual(done.state, "succeeded", JSON.stringify(done))
        assert.strictEqual(done.observed_head, done.commit)
        assert.strictEqual(origin.headOf(delivery.target_ref), done.commit ?? "")
        assert.deepInclude(done.steps.at(-1), { kind: "observe", outcome: "failed" })
      })
    )

    it.scoped("a push that was written down is not made again, whatever became of the branch since", () =>
      Effect.gen(function* () {
        const origin = yield* remote()
        const { change } = yield* workspace(origin.url)
        const changeset = yield* change({ "a.txt": "ONE\n" })
        for (const since of ["built upon", "deleted"]) {
          const branch = `work/${since.replace(" ", "-")}`
          const given = yield* unworked(changeset, origin.url, branch)
          let isPushed = false
          origin.gate.asked = (_method, url) => {
            // This is the look at the branch after the push.
            if (origin.headOf(branch) !== undefined && url.includes("git-upload-pack")) isPushed = true
          }
          const first = yield* attempt(given, 1, () => isPushed)
          assert.isTrue(Exit.isFailure(first.exit))
          origin.gate.asked = () => {}
          assert.deepInclude(first.delivery.steps.at(-1), { kind: "push", outcome: "succeeded" })
          const theirs = since === "deleted" ? null : origin.commitOn(branch, "c.txt", "theirs\n")
          if (theirs === null) origin.git("update-ref", "-d", `refs/heads/${branch}`)
          const second = yield* attempt(given, 2)
          assert.deepInclude(second.delivery, { state: "succeeded", observed_head: theirs }, JSON.stringify(second))
          assert.strictEqual(origin.headOf(branch) ?? null, theirs)
        }
      })
    )

    it.scoped("an attempt that has lost its claim after it looked at the branch does not push", () =>
      Effect.gen(function* () {
        const origin = yield* remote()
        const { change } = yield* workspace(origin.url)
        const given = yield* unworked(yield* change({ "a.txt": "ONE\n" }), origin.url, "feature")
        let isLost = false
        origin.gate.asked = () => {
          isLost = true
        }
        const { exit } = yield* attempt(given, 1, () => isLost)
        assert.deepInclude(Exit.isFailure(exit) && exit.cause, { _tag: "Fail" })
        assert.isUndefined(origin.headOf("feature"))
      })
    )

    it.scoped("a push that breaks off without an answer is unknown, also when it is cancelled afterwards", () =>
      Effect.gen(function* () {
        const origin = yield* remote()
        const { change, principal, session } = yield* workspace(origin.url)
        const deliveries = yield* Deliveries
        const changeset = yield* change({ "a.txt": "ONE\n" })
        origin.gate.asked = (method, url) => {
          if (method === "POST" && url.endsWith("/git-receive-pack")) origin.gate.cut = true
        }
        const { delivery, event_watermark: after, operation } = yield* deliveries.request(principal, changeset.id, {})
        const tried = yield* operationEnd(operation.id, ({ jobs }) =>
          jobs.some(({ attempts }) => attempts[0]?.finished_at !== null && attempts.length > 0)
        )
        const [first] = tried.jobs[0]?.attempts ?? []
        assert.strictEqual(first?.state, "unknown")
        assert.match(first?.error?.message ?? "", /may have reached the remote/)
        yield* deliveries.cancel(principal, delivery.id)
        yield* eventOf(session.id, after, "delivery.cancelled", "delivery.failed")
        const cancelled = yield* deliveries.get(principal, delivery.id)
        assert.strictEqual(cancelled.state, "cancelled")
        assert.match(cancelled.reason_message ?? "", /may have pushed/)
      })
    )
  })
}
