import { randomBytes } from "node:crypto"
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { turnOfTheLoop } from "@reins/base/base/EventLoop"
import { now } from "@reins/base/domain/Timestamp"
import { KeyRing } from "@reins/base/secrets/KeyRing"
import { withNewKey, writeRing } from "@reins/base/secrets/KeyRingFile"
import { Effect } from "effect"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-key-ring-"))),
  (dir) => Effect.sync(() => rmSync(dir, { recursive: true }))
)

const open = (path: string) => Effect.provide(KeyRing, KeyRing.layerFile(path))

const write = (path: string, ring: unknown) => writeFileSync(path, JSON.stringify(ring), { mode: 0o600 })

describe("KeyRing", () => {
  it.scoped("a ring that is not there is made with one key, in a file of mode 0600", () =>
    Effect.gen(function* () {
      const dir = yield* directory
      const path = join(dir, "keys", "ring.json")
      const ring = yield* open(path)
      assert.strictEqual(ring.current.key.length, 32)
      assert.strictEqual(statSync(path).mode & 0o777, 0o600)
      assert.strictEqual(statSync(join(dir, "keys")).mode & 0o777, 0o700)
      assert.deepStrictEqual(readdirSync(join(dir, "keys")), ["ring.json"])
    })
  )

  it.scoped("a ring is the same each time that it is opened", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "ring.json")
      const first = yield* open(path)
      const text = readFileSync(path, "utf8")
      const second = yield* open(path)
      assert.deepStrictEqual(second.current, first.current)
      assert.strictEqual(readFileSync(path, "utf8"), text)
    })
  )

  it.scoped("old keys are found by their id, unknown ones are not", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "ring.json")
      const [old, current] = [randomBytes(32), randomBytes(32)]
      write(path, {
        format: 1,
        current: "k2",
        keys: { k1: old.toString("base64"), k2: current.toString("base64") }
      })
      const ring = yield* open(path)
      assert.strictEqual(ring.current.id, "k2")
      assert.deepStrictEqual(ring.find("k1"), old)
      assert.deepStrictEqual(ring.find("k2"), current)
      assert.isUndefined(ring.find("k3"))
    })
  )

  it.scoped(
    "what another process changes is known in the next turn of the loop, and a key that is not known at once",
    () =>
      Effect.gen(function* () {
        const path = join(yield* directory, "ring.json")
        const ring = yield* open(path)
        const before = ring.current
        const changed = withNewKey(ring.ring(), yield* now)
        yield* writeRing(path, changed)
        assert.isDefined(ring.find(changed.current))
        const again = withNewKey(changed, yield* now)
        yield* writeRing(path, again)
        yield* turnOfTheLoop
        assert.strictEqual(ring.current.id, again.current)
        assert.deepStrictEqual(ring.find(before.id), before.key)
      })
  )

  it.scoped("what is changed through the ring is known at once", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "ring.json")
      const ring = yield* open(path)
      const at = yield* now
      const before = ring.current.id
      yield* ring.change((known) => withNewKey(known, at))
      assert.notStrictEqual(ring.current.id, before)
    })
  )

  it.scoped("a ring that others may read is refused", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "ring.json")
      yield* open(path)
      for (const mode of [0o640, 0o604, 0o620]) {
        chmodSync(path, mode)
        const error = yield* Effect.flip(open(path))
        assert.include(error.message, "chmod 600")
      }
    })
  )

  it.scoped("a ring that is damaged is refused without showing its keys", () =>
    Effect.gen(function* () {
      const path = join(yield* directory, "ring.json")
      const key = randomBytes(32).toString("base64")
      const damaged: ReadonlyArray<unknown> = [
        { format: 2, current: "k1", keys: { k1: key } },
        { format: 1, current: "k2", keys: { k1: key } },
        { format: 1, current: "k1", keys: { k1: key, k0: key.slice(0, 20) } },
        { format: 1, keys: { k1: key } },
        key
      ]
      for (const ring of damaged) {
        write(path, ring)
        const error = yield* Effect.flip(open(path))
        assert.strictEqual(error._tag, "KeyRingUnusable")
        assert.notInclude(`${error.message} ${JSON.stringify(error)}`, key.slice(0, 20))
      }
      writeFileSync(path, `{"format": 1, "current": "k1", "keys": {"k1": "${key}"`)
      const error = yield* Effect.flip(open(path))
      assert.notInclude(`${error.message} ${JSON.stringify(error)}`, key.slice(0, 20))
    })
  )
})
