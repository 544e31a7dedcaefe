import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { remote, token } from "@reins/testing/changes/Fixture"
import { startServer } from "@reins/testing/process/ServerProcess"
import { Effect } from "effect"
import { startGateway } from "reins-example-scripted-gateway/gateway.mjs"

export const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-story-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
)

/** A gateway and a forge that the story needs around its server. */
export const surroundings = Effect.gen(function* () {
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

/** The published server, until the scope closes. */
export const server = (dataDir: string, env: Readonly<Record<string, string>>) =>
  Effect.acquireRelease(
    Effect.promise(() => startServer({ dataDir, env })),
    (started) =>
      Effect.promise(() => {
        started.kill("SIGTERM")
        return started.ended
      })
  )
