import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { whyShared } from "@reins/base/base/PrivateDirectory"
import * as Sqlite from "@reins/core/store/Sqlite"
import { Effect, Layer } from "effect"

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-data-directory-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8)

describe("the data directory", () => {
  it.scopedLive(
    "is for the server's user alone, whatever its mode was before, and a new one is so from the beginning",
    () =>
      Effect.gen(function* () {
        const root = yield* temporary
        for (const mode of [0o777, 0o755, 0o2770, 0o701]) {
          const dataDir = join(root, mode.toString(8))
          mkdirSync(dataDir)
          chmodSync(dataDir, mode)
          yield* Effect.scoped(Layer.build(Sqlite.lockLayer(dataDir)))
          assert.strictEqual(statSync(dataDir).mode & 0o777, 0o700)
        }
        const made = join(root, "new/data")
        yield* Effect.scoped(Layer.build(Sqlite.lockLayer(made)))
        assert.deepStrictEqual([modeOf(join(root, "new")), modeOf(made)], ["700", "700"])
      })
  )

  it.scopedLive("that the machine shares is refused, and keeps its mode", () =>
    Effect.gen(function* () {
      const shared = join(yield* temporary, "tmp")
      mkdirSync(shared)
      chmodSync(shared, 0o1777)
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Sqlite.lockLayer(shared))))
      assert.strictEqual(error._tag, "DataDirectoryUnusable")
      assert.include(error.message, "Name a directory of the server's own in it.")
      assert.strictEqual(modeOf(shared), "1777")
      assert.isDefined(whyShared("/"))
    })
  )

  it("of another user cannot be made private, except by root", () => {
    assert.include(whyShared("/usr", 65_534), "another user")
    assert.isUndefined(whyShared("/usr", 0))
  })
})
