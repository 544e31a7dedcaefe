import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { remote, token } from "@reins/testing/changes/Fixture"
import { cacheWithSmallAgent } from "@reins/testing/harness/SmallAgent"
import { startServer } from "@reins/testing/process/ServerProcess"
import { postgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Redacted } from "effect"
import { startGateway } from "reins-example-scripted-gateway/gateway.mjs"
import { isRecording, keepExamples } from "../contract/Recording.js"
import { listed } from "../contract/Specification.js"
import * as Story from "./Story.js"
import { textAt, Visitor } from "./Visitor.js"

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-story-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
)

const surroundings = Effect.gen(function* () {
  const dataDir = yield* temporaryDirectory
  const gateway = yield* Effect.acquireRelease(
    Effect.promise(() => startGateway()),
    (started) => Effect.promise(() => started.close())
  )
  const origin = yield* remote("gitea")
  return {
    dataDir,
    gatewayUrl: gateway.url,
    forge: {
      url: origin.base,
      repositoryUrl: origin.url,
      token,
      close: (closed: boolean) => {
        origin.gate.closed = closed
      },
      read: (ref: string, path: string) => origin.git("show", `refs/heads/${ref}:${path}`)
    }
  }
})

const server = (dataDir: string, env: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.promise(() => startServer({ dataDir, env })),
    (started) =>
      Effect.promise(() => {
        started.kill("SIGTERM")
        return started.ended
      })
  )

/** With the real agent on SQLite; on PostgreSQL the database is what is proved. */
const databases = [
  { database: "SQLite", settings: Effect.succeed({}) },
  {
    database: "PostgreSQL",
    settings: Effect.gen(function* () {
      const url = yield* postgresDatabase
      return {
        REINS_DATABASE_URL: Redacted.value(url),
        REINS_CACHE_DIR: cacheWithSmallAgent(yield* temporaryDirectory)
      }
    })
  }
]

for (const { database, settings } of databases) {
  it.scopedLive(
    `every operation of the specification does its part in one piece of work, on ${database}`,
    () =>
      Effect.gen(function* () {
        const around = yield* surroundings
        const { url } = yield* server(around.dataDir, yield* settings)
        const visitor = new Visitor(url)
        yield* Effect.promise(async () => {
          await Story.arrive(visitor, around)
          const known = await Story.connect(visitor, around)
          const project_id = await Story.plan(visitor, known, around)
          const newSession = async () =>
            textAt(
              await visitor.read("POST /api/workspaces/{workspace_id}/sessions", {
                ids: { workspace_id: known.workspace_id },
                body: { project_id }
              }),
              "id"
            )
          const ids = { ...known, project_id, session_id: await newSession() }
          const other = await newSession()
          const changeset = await Story.work(visitor, ids)
          if (isRecording && database === "SQLite")
            await visitor.call("GET /api/sessions/{session_id}/native-state", { ids })
          await Story.review(visitor, changeset, other)
          await Story.deliver(visitor, ids, changeset, around)
          await Story.delegate(visitor, ids)
          await Story.leave(visitor, ids, other)
        })
        const missing = listed.map(({ name }) => name).filter((name) => !visitor.succeeded.has(name))
        assert.deepStrictEqual(missing, [])
        if (isRecording && database === "SQLite") keepExamples(visitor.recorded)
      }),
    1_200_000
  )
}
