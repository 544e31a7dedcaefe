import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { sparesOf } from "@reins/machine/bench/setup/SetupPlaces"
import { setupSnapshots } from "@reins/machine/bench/setup/SetupSnapshots"
import { setupSweep } from "@reins/machine/bench/setup/SetupSweep"
import { Git } from "@reins/machine/git/Git"
import { WayOut } from "@reins/machine/outbound/WayOut"
import { Effect, Layer } from "effect"

const key = (letter: string): string => letter.repeat(64)

/** Snapshots in a data directory of their own, and sessions to make them of. */
const place = Effect.fnUntraced(function* (config: Partial<CoreConfig["Type"]> = {}) {
  const dataDir = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-setups-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const root = join(dataDir, "setups")
  const given = Layer.merge(
    CoreConfig.layer({ dataDir, ...config }),
    Layer.provide(Git.layer, WayOut.layerWith({ allowPrivateHosts: [] }))
  )
  const snapshots = yield* Effect.provide(setupSnapshots, given)
  const git = yield* Effect.provide(Git, given)
  const treesOf = (name: string) => {
    const session = join(dataDir, name)
    mkdirSync(session)
    return { workTree: join(session, "workspace"), home: join(session, "home"), gitDir: join(session, "trusted.git") }
  }
  /** Publishes a session that holds one file. */
  const publish = Effect.fnUntraced(function* (name: string, under: string, bytes = 1) {
    const trees = treesOf(name)
    yield* git.init(trees)
    mkdirSync(trees.home)
    writeFileSync(join(trees.workTree, "file"), "x".repeat(bytes))
    yield* snapshots.publish(under, trees, { workspace_id: "wsp_one", project_id: null })
    yield* spared(root, under)
    return trees
  })
  return { root, snapshots, treesOf, publish, sweep: Effect.flatten(Effect.provide(setupSweep, given)) }
})

/** Waits for the spare copies of a snapshot. */
const spared = (root: string, under: string) =>
  Effect.repeat(
    Effect.delay(
      Effect.sync(() => sparesOf(root, under).every((spare) => existsSync(spare))),
      "10 millis"
    ),
    { until: (there) => there }
  )

const namesIn = (root: string) =>
  readdirSync(root)
    .map((name) => name.replace(/(?<=-|^)(.)\1{63}$/, "$1"))
    .sort()

describe("what setups have left", () => {
  it.scopedLive("is given whole, from the spare copies and without them, to as many as ask at once", () =>
    Effect.gen(function* () {
      const { publish, root, snapshots, treesOf } = yield* place()
      const made = yield* publish("first", key("a"))
      const takers = ["two", "three", "four", "five"].map(treesOf)
      const taken = yield* Effect.forEach(takers, (trees) => snapshots.take(key("a"), trees), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(taken, [true, true, true, true])
      for (const { gitDir, home, workTree } of takers) {
        assert.strictEqual(readFileSync(join(workTree, "file"), "utf8"), "x")
        assert.isTrue(existsSync(home) && existsSync(join(gitDir, "HEAD")))
        writeFileSync(join(workTree, "file"), "changed")
      }
      assert.strictEqual(readFileSync(join(root, key("a"), "workspace/file"), "utf8"), "x")
      assert.strictEqual(readFileSync(join(made.workTree, "file"), "utf8"), "x")
      yield* spared(root, key("a"))
      const none = treesOf("none")
      assert.isFalse(yield* snapshots.take(key("b"), none))
      assert.isFalse(existsSync(none.workTree))
    })
  )

  it.scopedLive("a part that a crash has left is no snapshot, and a damaged one leaves nothing at the paths", () =>
    Effect.gen(function* () {
      const { publish, root, snapshots, treesOf } = yield* place()
      yield* publish("first", key("a"))
      for (const spare of sparesOf(root, key("a"))) rmSync(spare, { recursive: true })
      rmSync(join(root, key("a"), "home"), { recursive: true })
      const trees = treesOf("second")
      assert.isFalse(yield* snapshots.take(key("a"), trees))
      assert.deepStrictEqual(
        Object.values(trees).filter((path) => existsSync(path)),
        []
      )
    })
  )

  it.scopedLive(
    "goes when nobody has used it for long, when it takes too much space, and when a crash has left it half",
    () =>
      Effect.gen(function* () {
        const { publish, root, sweep } = yield* place({ setupSnapshotDays: 3, setupSnapshotBytes: 4 * 1024 * 1024 })
        yield* publish("one", key("a"))
        yield* publish("two", key("b"))
        yield* publish("three", key("c"), 3 * 1024 * 1024)
        const past = (days: number) => new Date(Date.now() - days * 86_400_000)
        utimesSync(join(root, key("a")), past(4), past(4))
        utimesSync(join(root, key("b")), past(2), past(2))
        mkdirSync(join(root, ".making-old"))
        utimesSync(join(root, ".making-old"), past(1), past(1))
        mkdirSync(join(root, ".making-new"))
        mkdirSync(join(root, `spare-${key("d")}`))
        assert.deepStrictEqual(
          namesIn(root).filter((name) => !name.endsWith(".lock")),
          [
            ".making-new",
            ".making-old",
            "a",
            "b",
            "c",
            "second-a",
            "second-b",
            "second-c",
            "spare-a",
            "spare-b",
            "spare-c",
            "spare-d"
          ]
        )
        yield* sweep
        // The newest is too large with its spare copies, and leaves no room for the others.
        assert.deepStrictEqual(namesIn(root), [".making-new"])
        yield* publish("four", key("b"))
        utimesSync(join(root, key("b")), past(2), past(2))
        yield* sweep
        assert.deepStrictEqual(namesIn(root), [".making-new", "b"])
      })
  )
})
