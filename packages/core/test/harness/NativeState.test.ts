import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Manifests } from "@reins/machine/harness/Manifests"
import * as NativeState from "@reins/machine/harness/NativeState"
import { Effect } from "effect"
import { temporaryDirectory } from "../execution/Agent.js"

const kept = ".local/share/opencode"

/** A home with one file of state, and what is read of it. */
const home = Effect.gen(function* () {
  const root = yield* temporaryDirectory
  const homeDir = join(root, "home")
  fs.mkdirSync(join(homeDir, kept, "storage/deep"), { recursive: true })
  fs.writeFileSync(join(homeDir, kept, "storage/deep/a.json"), "{}")
  fs.mkdirSync(join(root, "outside"))
  fs.writeFileSync(join(root, "outside/secret"), "SECRET")
  const manifest = yield* (yield* Manifests).get("alpha")
  const read = Effect.gen(function* () {
    const taken = new Map<string, string>()
    const state = yield* NativeState.readNativeState(manifest, homeDir, (path, piece) => {
      taken.set(path, (taken.get(path) ?? "") + Buffer.from(piece).toString())
    })
    assert.sameMembers(
      [...taken.keys()],
      state.files.filter(({ size }) => size > 0).map(({ path }) => path)
    )
    return { ...state, taken }
  })
  return { outside: join(root, "outside"), storage: join(homeDir, kept, "storage"), homeDir, read }
})

describe("the native state", () => {
  it.scopedLive("has a file with a second name inside the home under both", () =>
    Effect.gen(function* () {
      const { homeDir, read, storage } = yield* home
      const before = yield* read
      fs.linkSync(join(storage, "deep/a.json"), join(storage, "b.json"))
      const state = yield* read
      assert.deepStrictEqual(Object.fromEntries(state.taken), {
        [`${kept}/storage/b.json`]: "{}",
        [`${kept}/storage/deep/a.json`]: "{}"
      })
      assert.notStrictEqual(state.digest, before.digest)
      fs.renameSync(join(storage, "b.json"), join(homeDir, "b.json"))
      assert.deepStrictEqual(yield* read, before)
    }).pipe(Effect.provide(Manifests.layer))
  )

  it.scopedLive(
    "has nothing that is also somewhere else: no hard link to a file outside, and nothing through a link",
    () =>
      Effect.gen(function* () {
        const { outside, read, storage } = yield* home
        const before = yield* read
        fs.linkSync(join(outside, "secret"), join(storage, "hard.json"))
        fs.symlinkSync(join(outside, "secret"), join(storage, "soft.json"))
        fs.symlinkSync(outside, join(storage, "folder"))
        assert.deepStrictEqual(yield* read, before)
        fs.renameSync(storage, join(outside, "storage"))
        fs.symlinkSync(join(outside, "storage"), storage)
        assert.deepStrictEqual(yield* read, { files: [], digest: null, taken: new Map() })
      }).pipe(Effect.provide(Manifests.layer))
  )

  it.scopedLive("of an agent without a home is empty", () =>
    Effect.gen(function* () {
      const { homeDir, read } = yield* home
      fs.rmSync(homeDir, { recursive: true })
      assert.deepStrictEqual(yield* read, { files: [], digest: null, taken: new Map() })
    }).pipe(Effect.provide(Manifests.layer))
  )
})
