import { randomBytes } from "node:crypto"
import { cpSync, rmSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import type { SessionId } from "@reins/base/domain/Ids"
import { ReinsError } from "@reins/base/domain/ReinsError"
import { Connections } from "@reins/core/connections/Connections"
import { Accounts } from "@reins/core/identity/Accounts"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Database } from "@reins/core/store/Database"
import { measure } from "@reins/core/upkeep/DiskSweep"
import { SessionFiles } from "@reins/core/worktrees/SessionFiles"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { bareRemote } from "@reins/testing/git/Fixture"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Either, Redacted } from "effect"
import { storeNameOf } from "../../../machine/src/bench/StoresHere.js"
import { bytesBelow } from "../../../machine/src/files/DiskUse.js"
import { temporaryDirectory } from "../execution/Agent.js"
import { principalOf } from "../identity/Principals.js"

const mebibyte = 1024 * 1024

const limits = {
  ...defaultLimits,
  sessionsPerWorkspace: 3,
  workingTreesPerWorkspace: 2,
  diskBytesPerWorkspace: 2 * mebibyte
}

/** The refusal of a call, as programs and people read it. */
const refusalOf = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), (error) =>
    error instanceof ReinsError ? { code: error.code, details: error.details, message: error.message } : error
  )

/** The owner of another workspace, with a connection. */
const anotherOwner = Effect.gen(function* () {
  const email = "other@example.com"
  const account = yield* (yield* Accounts).createVerified({ email, password: Redacted.make("a quiet heron at noon") })
  const principal = principalOf(account)
  const [workspace] = (yield* (yield* Accounts).me(principal)).workspaces
  if (workspace === undefined) return yield* Effect.dieMessage("no workspace")
  yield* (yield* Connections).create(principal, workspace.id, {
    kind: "alpha_gateway",
    label: "gateway",
    credential: { base_url: "http://127.0.0.1:9/v1", api_key: "k".repeat(32) }
  })
  return { principal, workspaceId: workspace.id }
})

const upload = (path: string, bytes: number) => ({
  path,
  content: "x".repeat(bytes),
  encoding: "utf-8" as const
})

/** A workspace with sessions of one repository, whose object store they share. */
const sharing = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const { dataDir } = yield* CoreConfig
  const db = yield* Database
  const sessions = yield* Sessions
  const trees = yield* WorkingTrees
  const content = randomBytes(mebibyte).toString("hex")
  const url = bareRemote(yield* temporaryDirectory, { "large.txt": content })
  const store = join(dataDir, "object-stores", storeNameOf(workspaceId, url))
  const live: Array<string> = []
  return {
    store,
    measured: yield* measure,
    create: sessions.create(principal, workspaceId, {}),
    begin: Effect.gen(function* () {
      const { id } = yield* sessions.create(principal, workspaceId, { repository: { url }, prewarm: false })
      yield* trees.make(id)
      live.push((yield* pathsOf(id)).root)
      return id
    }),
    close: (id: SessionId) => Effect.zipRight(sessions.close(principal, id), trees.remove(id)),
    /** Another node has the session from now on, and has measured it. */
    leave: (id: SessionId) =>
      Effect.gen(function* () {
        rmSync((yield* pathsOf(id)).root, { recursive: true })
        live.splice(live.indexOf((yield* pathsOf(id)).root), 1)
        yield* db.run(db.sql`delete from session_disk where session_id = ${id}`)
        yield* db.run(db.sql`update working_trees set state = 'none' where session_id = ${id}`)
      }),
    /** The bytes that count for the workspace, and how many more they are than those on the disk. Shares are whole bytes. */
    excess: Effect.gen(function* () {
      const rows = yield* db.all(db.sql<{ bytes: number }>`select bytes from session_disk`)
      const counted = rows.reduce((sum, { bytes }) => sum + Number(bytes), 0)
      const there = yield* Effect.forEach([store, ...live], bytesBelow)
      return { counted, excess: counted - there.reduce((sum, bytes) => sum + bytes, 0) }
    })
  }
})

for (const { layer, name } of flowDatabases)
  describe(`quotas of workspaces on ${name}`, () => {
    const fresh = services(layer, { limits })

    it.scopedLive("sessions that are not closed are counted, one by one also when they are asked for at once", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const sessions = yield* Sessions
        const create = sessions.create(principal, workspaceId, {})
        const made = yield* Effect.all(
          Array.from({ length: 8 }, () => Effect.either(create)),
          { concurrency: "unbounded" }
        )
        const [first, second] = made.filter(Either.isRight).map(({ right }) => right)
        assert.strictEqual(made.filter(Either.isRight).length, 3)
        assert.deepStrictEqual(yield* refusalOf(create), {
          code: "quota_exhausted",
          message: "The workspace may have 3 sessions that are not closed. Close some, or ask the operator for more.",
          details: { quota: "sessions", used: 3, limit: 3 }
        })
        yield* sessions.archive(principal, first?.id ?? "")
        assert.deepInclude(yield* refusalOf(create), { code: "quota_exhausted" })
        yield* sessions.close(principal, second?.id ?? "")
        yield* create
        const other = yield* anotherOwner
        yield* sessions.create(other.principal, other.workspaceId, {})
      }).pipe(Effect.provide(fresh))
    )

    it.scopedLive("a working tree that has no place is not made, and one that is removed leaves its place", () =>
      Effect.gen(function* () {
        const { principal, workspaceId } = yield* ownerWithConnection
        const sessions = yield* Sessions
        const trees = yield* WorkingTrees
        const files = yield* SessionFiles
        const [first, second, third] = yield* Effect.forEach([1, 2, 3], () =>
          sessions.create(principal, workspaceId, {})
        )
        if (first === undefined || second === undefined || third === undefined) return assert.fail("no session")
        yield* trees.make(first.id)
        yield* trees.make(second.id)
        assert.deepInclude(yield* Effect.flip(trees.make(third.id)), { _tag: "GitError", kind: "quota_exhausted" })
        const refused = yield* refusalOf(files.upload(principal, third.id, upload("a.txt", 1)))
        assert.deepInclude(refused, { code: "executor_unavailable", details: { reason: "quota_exhausted" } })
        assert.strictEqual((yield* sessions.get(principal, third.id)).workspace.state, "none")
        yield* trees.make(second.id)
        yield* sessions.close(principal, first.id)
        yield* trees.remove(first.id)
        yield* trees.make(third.id)
      }).pipe(Effect.provide(fresh))
    )

    it.scopedLive(
      "the disk that files take is measured, and beyond it sessions, messages and uploads are refused",
      () =>
        Effect.gen(function* () {
          const { principal, workspaceId } = yield* ownerWithConnection
          const sessions = yield* Sessions
          const files = yield* SessionFiles
          const messages = yield* Messages
          const measured = yield* measure
          const session = yield* sessions.create(principal, workspaceId, {})
          yield* files.upload(principal, session.id, upload("large.txt", 3 * mebibyte))
          yield* measured
          const calls = [
            sessions.create(principal, workspaceId, {}),
            messages.send(principal, session.id, { content: "go on" }),
            files.upload(principal, session.id, upload("small.txt", 1))
          ]
          for (const call of calls) {
            const refused = yield* refusalOf<unknown, unknown>(call)
            assert.deepInclude(refused, { code: "quota_exhausted" })
            assert.include(JSON.stringify(refused), '"quota":"disk_bytes"')
          }
          yield* (yield* WorkingTrees).remove(session.id)
          yield* measured
          yield* sessions.create(principal, workspaceId, {})
        }).pipe(Effect.provide(fresh))
    )

    it.scopedLive("the objects of a repository count once, however its sessions come, end and move", () =>
      Effect.gen(function* () {
        const world = yield* sharing
        const rightAfter = (measured: Effect.Effect<void>) =>
          Effect.gen(function* () {
            yield* measured
            const { counted, excess } = yield* world.excess
            assert.isAtMost(Math.abs(excess), 8, `${counted} bytes are counted`)
            return counted
          })
        const isRight = rightAfter(world.measured)
        const first = yield* world.begin
        const alone = yield* isRight
        const store = yield* bytesBelow(world.store)
        assert.isAtLeast(store, mebibyte)
        assert.isAtLeast(alone, store + 2 * mebibyte)
        const second = yield* world.begin
        yield* isRight
        const third = yield* world.begin
        const three = yield* isRight
        assert.isAtMost(three, 3 * alone - 2 * store + 64 * 1024)
        // A store that has grown is counted by the next session that fetches into it.
        cpSync(join(world.store, "objects"), join(world.store, "more"), { recursive: true })
        yield* world.close(second)
        assert.isAtLeast(three, yield* isRight)
        yield* world.leave(third)
        yield* isRight
        // The next process goes on from what this one has counted.
        const isRightNext = rightAfter(yield* measure)
        yield* isRightNext
        yield* world.begin
        yield* isRightNext
        yield* world.close(first)
        yield* isRightNext
      }).pipe(
        Effect.provide(
          services(layer, {
            allowLocalRepositories: true,
            limits: { ...defaultLimits, diskBytesPerWorkspace: 1024 * mebibyte }
          })
        )
      )
    )

    it.scopedLive("a store is what takes a workspace over its share, and the refusal says the sum", () =>
      Effect.gen(function* () {
        const world = yield* sharing
        yield* world.begin
        yield* world.measured
        yield* world.create
        yield* world.begin
        yield* world.measured
        const { counted } = yield* world.excess
        assert.deepInclude(yield* refusalOf(world.create), {
          code: "quota_exhausted",
          details: { quota: "disk_bytes", used: counted, limit: 5 * mebibyte }
        })
      }).pipe(
        Effect.provide(
          services(layer, {
            allowLocalRepositories: true,
            limits: { ...defaultLimits, diskBytesPerWorkspace: 5 * mebibyte }
          })
        )
      )
    )
  })
