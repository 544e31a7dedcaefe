import { cpSync, rmSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Deliveries } from "@reins/core/deliveries/Deliveries"
import { JobStore } from "@reins/core/jobs/JobStore"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
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
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect } from "effect"

const ends = ["delivery.succeeded", "delivery.failed", "delivery.blocked", "delivery.cancelled"]

/** A repository that has got another name on its server, which knows the old one no more. */
const renamed = Effect.gen(function* () {
  const origin = yield* remote()
  const made = yield* workspace(origin.url)
  const bare = origin.git("rev-parse", "--absolute-git-dir")
  const url = `${origin.base}/acme/renamed.git`
  const move = Effect.sync(() => {
    cpSync(bare, join(dirname(bare), "renamed.git"), { recursive: true })
    rmSync(bare, { recursive: true })
  })
  return { ...made, origin, url, move, moved: join(dirname(bare), "renamed.git") }
})

/** Waits until the agent's own repository was told. */
const followed = (sessionId: string) =>
  Effect.flatMap(JobStore, (jobs) => Effect.flatMap(jobs.newestOf(sessionId), ({ id }) => operationEnd(id)))

for (const { layer: database, name } of flowDatabases) {
  layer(installation(database), { excludeTestServices: true })(`the URL of a session's repository on ${name}`, (it) => {
    it.scoped(
      "a blocked delivery goes to the new one at its retry, and a new one at once; the agent's remote follows",
      () =>
        Effect.gen(function* () {
          const { change, move, moved, principal, session, url, workTree } = yield* renamed
          const deliveries = yield* Deliveries
          const sessions = yield* Sessions
          const changeset = yield* change({ "a.txt": "ONE\n" })
          yield* move
          const asked = yield* deliveries.request(principal, changeset.id, {})
          yield* eventOf(session.id, asked.event_watermark, ...ends)
          const blocked = yield* deliveries.get(principal, asked.delivery.id)
          assert.deepInclude(blocked, { state: "blocked", reason: "repository_not_found" })

          const before = yield* sessions.get(principal, session.id)
          const after = yield* sessions.update(principal, session.id, { repository: { url } })
          assert.strictEqual(after.base.repository, url)
          assert.strictEqual(after.version, before.version + 1)
          yield* eventOf(session.id, before.event_watermark, "session.updated")
          const again = yield* deliveries.request(principal, changeset.id, {})
          assert.strictEqual(again.delivery.id, blocked.id)
          yield* eventOf(session.id, again.event_watermark, ...ends)
          const done = yield* deliveries.get(principal, blocked.id)
          assert.deepInclude(done, { state: "succeeded", remote_url: url }, JSON.stringify(done))
          assert.strictEqual(plainGit(moved, "rev-parse", `refs/heads/${done.target_ref}`), done.commit)

          const next = yield* deliveries.request(principal, changeset.id, { target_ref: "next" })
          yield* operationEnd(next.operation.id)
          assert.deepInclude(yield* deliveries.get(principal, next.delivery.id), {
            state: "succeeded",
            remote_url: url
          })
          yield* followed(session.id)
          assert.strictEqual(plainGit(workTree, "remote", "get-url", "origin"), url)
        })
    )

    it.scoped("a credential goes to the new one only where its connection leads", () =>
      Effect.gen(function* () {
        const { change, move, origin, principal, session } = yield* renamed
        const elsewhere = yield* remote("gitea")
        const deliveries = yield* Deliveries
        const connection = yield* forgeConnection("gitea", origin.base)
        const changeset = yield* change({ "a.txt": "ONE\n" })
        yield* move
        yield* (yield* Sessions).update(principal, session.id, { repository: { url: elsewhere.url } })
        const answer = yield* deliveries.request(principal, changeset.id, { connection_id: connection.id })
        yield* eventOf(session.id, answer.event_watermark, ...ends)
        assert.deepInclude(yield* deliveries.get(principal, answer.delivery.id), {
          state: "blocked",
          reason: "auth_required"
        })
        assert.deepStrictEqual(elsewhere.seen, [])
      })
    )

    it.scoped("it is refused during a delivery, without a repository, and for what is never contacted", () =>
      Effect.gen(function* () {
        const { change, origin, principal, session, url } = yield* renamed
        const sessions = yield* Sessions
        const deliveries = yield* Deliveries
        const update = (given: string) => sessions.update(principal, session.id, { repository: { url: given } })
        for (const given of [
          "ftp://git.example/a.git",
          "/etc",
          "ssh://git@git.example/a.git",
          "http://git.example/a.git"
        ]) {
          assert.instanceOf(yield* Effect.flip(update(given)), RequestInvalid, given)
        }
        const unchanged = yield* update(origin.url)
        assert.strictEqual(unchanged.base.repository, origin.url)
        const changeset = yield* change({ "a.txt": "ONE\n" })
        const asked = yield* Effect.makeLatch(false)
        origin.gate.silent = true
        origin.gate.asked = () => void asked.unsafeOpen()
        const { delivery, operation } = yield* deliveries.request(principal, changeset.id, {})
        yield* asked.await
        assert.strictEqual(yield* codeOf(update(url)), "delivery_unresolved")
        yield* deliveries.cancel(principal, delivery.id)
        yield* operationEnd(operation.id)
        yield* update(url)
        const empty = yield* workspace()
        const given = sessions.update(principal, empty.session.id, { repository: { url } })
        assert.strictEqual(yield* codeOf(given), "invalid_transition")
      })
    )

    it.scoped("a remote that the agent has changed itself stays as it is, and its other settings too", () =>
      Effect.gen(function* () {
        const { principal, session, url, workTree } = yield* renamed
        const sessions = yield* Sessions
        const store = yield* SessionStore
        plainGit(workTree, "config", "remote.mine.url", url)
        plainGit(workTree, "config", "alias.x", "!echo [remote]")
        plainGit(workTree, "remote", "set-url", "origin", "https://git.example/own.git")
        yield* sessions.update(principal, session.id, { repository: { url } })
        yield* followed(session.id)
        assert.strictEqual(plainGit(workTree, "remote", "get-url", "origin"), "https://git.example/own.git")
        assert.strictEqual(plainGit(workTree, "config", "alias.x"), "!echo [remote]")
        assert.strictEqual((yield* store.find(session.id))?.tree.repository, url)
      })
    )
  })
}
