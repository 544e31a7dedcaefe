import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { defaultLimits } from "@reins/base/base/CoreLimits"
import { systemActor } from "@reins/core/access/Access"
import { Artifacts } from "@reins/core/artifacts/Artifacts"
import { EventFeed } from "@reins/core/events/EventFeed"
import { Messages } from "@reins/core/sessions/Messages"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { Sessions } from "@reins/core/sessions/Sessions"
import { TurnStore } from "@reins/core/sessions/turns/TurnStore"
import { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { ToolRuns } from "@reins/core/tools/ToolRuns"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { pathsOf } from "@reins/testing/sessions/Paths"
import { ownerWithConnection, services } from "@reins/testing/sessions/Services"
import { databases } from "@reins/testing/store/Databases"
import { restOn } from "@reins/testing/Variants"
import { Effect, Stream } from "effect"

const runner = systemActor("runner")

/** A session with files, whose agent publishes some. */
const given = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const journal = yield* Journal
  const store = yield* TurnStore
  const session = yield* (yield* Sessions).create(principal, workspaceId, {})
  const sent = yield* (yield* Messages).send(principal, session.id, { content: "Do it." })
  yield* (yield* WorkingTrees).make(session.id)
  const { workTree } = yield* pathsOf(session.id)
  const turn = yield* store.find(sent.turn_id ?? "")
  const row = yield* (yield* SessionStore).find(session.id)
  if (turn === undefined || row === undefined) return yield* Effect.dieMessage("there is no turn")
  for (const to of ["preparing", "running"] as const) yield* journal.commit(store.move(turn.id, to, runner))
  const call = yield* (yield* ToolRuns).of(row, turn)
  let calls = 0
  const publish = (path: string, title?: string) =>
    Effect.map(
      call({
        server: "reins",
        tool: "publish_artifact",
        call_id: `call-${++calls}`,
        input: { path, ...(title !== undefined && { title }) },
        hears_progress: true
      }),
      ({ is_error, text }) => (is_error ? text : (JSON.parse(text) as Readonly<Record<string, unknown>>))
    )
  return { principal, publish, session, turn, workTree }
})

const count = Effect.flatMap(Database, ({ all, sql }) =>
  Effect.map(
    all(sql`select artifact_id from artifact_pieces union all select id from artifacts`),
    (rows) => rows.length
  )
)

for (const { layer, name } of databases) {
  describe(`artifacts on ${name}`, () => {
    it.scopedLive("a file is kept as it was, is the same under the same call, and is told", () =>
      Effect.gen(function* () {
        const { principal, publish, session, turn, workTree } = yield* given
        const artifacts = yield* Artifacts
        const bytes = Buffer.alloc(2_500_000, 0xff)
        writeFileSync(join(workTree, "data.bin"), bytes)
        const one = yield* publish("data.bin", "The data")
        assert.deepInclude(one, { bytes: bytes.length, media_type: "application/octet-stream" })
        assert.deepStrictEqual(yield* publish("data.bin", "The data"), one)
        writeFileSync(join(workTree, "data.bin"), "short")
        const two = yield* publish("data.bin", "The data")
        const { items } = yield* artifacts.list(principal, session.id, {})
        assert.deepStrictEqual(
          items.map(({ id, media_type, path, size, title, turn_id }) => [id, media_type, path, size, title, turn_id]),
          [
            [
              (two as { artifact_id: string }).artifact_id,
              "text/plain; charset=utf-8",
              "data.bin",
              5,
              "The data",
              turn.id
            ],
            [
              (one as { artifact_id: string }).artifact_id,
              "application/octet-stream",
              "data.bin",
              bytes.length,
              "The data",
              turn.id
            ]
          ]
        )
        const kept = yield* artifacts.content(principal, items[1]?.id ?? "")
        assert.isTrue(kept.bytes.equals(bytes))
        assert.strictEqual(kept.artifact.digest, `sha256:${(one as { sha256: string }).sha256}`)
        assert.isEmpty((yield* artifacts.list(principal, session.id, { turn_id: "turn_none" })).items)
        yield* artifacts.delete(principal, items[1]?.id ?? "")
        assert.strictEqual(yield* count, 2)
        const log = (yield* EventFeed).stream(principal, session.id, { after: 0 })
        const events = [...(yield* Stream.runCollect(Stream.takeUntil(log, ({ type }) => type === "artifact.deleted")))]
        assert.deepStrictEqual(
          events.flatMap(({ type }) => (type.startsWith("artifact.") ? [type] : [])),
          ["artifact.published", "artifact.published", "artifact.deleted"]
        )
      }).pipe(Effect.provide(services(layer)))
    )

    restOn(name)(() => {
      it.scopedLive("each part of a content is that part, wherever it begins and ends", () =>
        Effect.gen(function* () {
          const { principal, publish, workTree } = yield* given
          const artifacts = yield* Artifacts
          const bytes = Buffer.from(Array.from({ length: 2_500_000 }, (_, at) => (at * 31) % 251))
          writeFileSync(join(workTree, "data.bin"), bytes)
          const { artifact_id: id } = (yield* publish("data.bin", "The data")) as { readonly artifact_id: string }
          const MiB = 1024 * 1024
          const edges = [0, 1, MiB - 1, MiB, MiB + 1, 2 * MiB - 1, 2 * MiB, 2_400_000, bytes.length - 1]
          for (const first of edges)
            for (const last of edges.filter((edge) => edge >= first)) {
              const { bytes: part } = yield* artifacts.content(principal, id, { first, last })
              assert.isTrue(part.equals(bytes.subarray(first, last + 1)), `${first} to ${last}`)
            }
        }).pipe(Effect.provide(services(layer)))
      )

      it.scopedLive("what is no file of the working tree, is too large or too many is refused with the reason", () =>
        Effect.gen(function* () {
          const { publish, workTree } = yield* given
          mkdirSync(join(workTree, "sub"))
          symlinkSync("/etc/passwd", join(workTree, "link"))
          writeFileSync(join(workTree, "large.bin"), "")
          truncateSync(join(workTree, "large.bin"), 25 * 1024 * 1024 + 1)
          assert.include(yield* publish("none.txt"), "no such file")
          assert.include(yield* publish("sub"), "directory")
          assert.include(yield* publish("link"), "out of the working tree")
          assert.include(yield* publish("../home"), "out of the working tree")
          assert.include(yield* publish("/etc/passwd"), "out of the working tree")
          assert.include(yield* publish("large.bin"), "26214401 bytes")
          for (let each = 0; each < defaultLimits.artifactsPerTurn; each++) {
            writeFileSync(join(workTree, `${each}.txt`), String(each))
            assert.isObject(yield* publish(`${each}.txt`))
          }
          writeFileSync(join(workTree, "more.txt"), "more")
          assert.include(yield* publish("more.txt"), "quota_exhausted")
        }).pipe(Effect.provide(services(layer)))
      )
    })
  })
}
