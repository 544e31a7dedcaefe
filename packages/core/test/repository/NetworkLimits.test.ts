import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Git } from "@reins/machine/git/Git"
import { WayOut } from "@reins/machine/outbound/WayOut"
import { cloned, gitLayer, gitLayerWith } from "@reins/testing/git/Fixture"
import { gitHttpServer } from "@reins/testing/git/GitHttpServer"
import { Effect, Fiber, Layer } from "effect"

describe("network limits", () => {
  const silent = (root: string) => gitHttpServer(root, null, () => true)
  const childrenOf = () =>
    execFileSync("ps", ["-eo", "args"], { encoding: "utf8" })
      .split("\n")
      .filter((line) => line.includes("remote-http") && line.includes("silent.git"))

  it.scopedLive("a remote that never answers is timeout, and leaves no process", () =>
    Effect.gen(function* () {
      const { git, gitDir, root } = yield* cloned({ "a.txt": "one\n" })
      const server = yield* silent(root)
      const asked = git.remoteHead({ gitDir, url: `${server.url}/silent.git`, branch: "main" })
      // A request that changes something is not interrupted, and its limits hold none the less.
      for (const ask of [asked, Effect.uninterruptible(asked)]) {
        assert.strictEqual((yield* Effect.flip(ask)).kind, "timeout")
        assert.deepStrictEqual(childrenOf(), [])
      }
    }).pipe(Effect.provide(gitLayerWith({ networkTimeoutMs: 1_500 })))
  )

  it.scopedLive("an interruption ends git and its children", () =>
    Effect.gen(function* () {
      const { git, gitDir, root } = yield* cloned({ "a.txt": "one\n" })
      let heard: () => void = () => undefined
      const server = yield* gitHttpServer(root, null, () => {
        heard()
        return true
      })
      const asked = Effect.async<void>((resume) => {
        heard = () => resume(Effect.void)
      })
      const waiting = yield* Effect.fork(asked)
      const fiber = yield* Effect.fork(git.remoteHead({ gitDir, url: `${server.url}/silent.git`, branch: "main" }))
      yield* Fiber.join(waiting)
      assert.isAbove(childrenOf().length, 0)
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(childrenOf(), [])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("unreachable, unknown and forbidden remotes are told apart", () =>
    Effect.gen(function* () {
      const { git, gitDir, root, url } = yield* cloned({ "a.txt": "one\n" })
      const server = yield* gitHttpServer(root, null)
      const kindOf = (address: string) =>
        Effect.map(Effect.flip(git.remoteHead({ gitDir, url: address, branch: "main" })), (error) => error.kind)
      assert.strictEqual(yield* kindOf("http://127.0.0.1:1/x.git"), "remote_unavailable")
      assert.strictEqual(yield* kindOf(`${server.url}/none.git`), "not_found")
      assert.strictEqual(yield* kindOf(join(root, "none.git")), "not_found")
      const strict = yield* Effect.provide(
        Git,
        Layer.provide(Git.layerWith({}), WayOut.layerWith({ allowPrivateHosts: [] }))
      )
      const refused = (address: string) =>
        Effect.map(Effect.flip(strict.remoteHead({ gitDir, url: address, branch: "main" })), (error) => error.kind)
      assert.strictEqual(yield* refused(`${server.url}/remote.git`), "remote_refused")
      assert.strictEqual(yield* refused(url), "remote_refused")
      assert.strictEqual(yield* refused(`file://${url}`), "remote_refused")
    }).pipe(Effect.provide(gitLayer))
  )
})
