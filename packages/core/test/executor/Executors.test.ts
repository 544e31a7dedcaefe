import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { builtInExecutors, CoreConfig } from "@reins/base/base/CoreConfig"
import { type Executor, ExecutorError, Executors } from "@reins/machine/executor/Executors"
import { executorSuite } from "@reins/testing/executor/ExecutorSuite"
import { Effect, Layer } from "effect"

type Wanted = CoreConfig["Type"]["executors"]

/** The image for agents in containers; none where no engine is to be tried. */
const containerImage = process.env["REINS_TEST_CONTAINER_IMAGE"] ?? null
const containerEngine = process.env["REINS_TEST_CONTAINER_ENGINE"] === "docker" ? "docker" : null

const cacheDir = mkdtempSync(join(tmpdir(), "reins-executors-"))
afterAll(() => rmSync(cacheDir, { recursive: true, force: true }))

const among = (executors: Wanted) =>
  Layer.provide(Executors.layer, [
    CoreConfig.layer({ dataDir: "/nonexistent", cacheDir, executors, containerEngine, containerImage }),
    Boot.layerSingle
  ])

const seen = (executors: Wanted) =>
  Effect.provide(
    Effect.gen(function* () {
      const { choose, get, list } = yield* Executors
      const entries = yield* list
      return {
        entries,
        chosen: yield* Effect.either(choose(undefined)),
        refused: yield* Effect.forEach(entries, ({ backend }) => Effect.either(get(backend)))
      }
    }),
    among(executors)
  ).pipe(Effect.scoped)

const found = await Effect.runPromise(seen([...builtInExecutors]))

for (const each of found.refused) {
  if (each._tag === "Right") executorSuite(each.right.backend, Effect.succeed(each.right))
}

const sandboxed = found.entries.find(({ backend }) => backend === "bubblewrap")
const contained = found.entries.find(({ backend }) => backend === "container")

describe("the executors that are part of Reins", () => {
  it("are all run by the suite of the port; one that this machine cannot have says why", () => {
    const here = found.entries.filter(({ available }) => available).map(({ backend }) => backend)
    assert.include(here, "local")
    // The place where changes are proved has the sandbox.
    if (process.env["REINS_TEST_SANDBOX"] === "required") assert.include(here, "bubblewrap", sandboxed?.note)
    else if (sandboxed?.available !== true) assert.match(sandboxed?.note ?? "", /^bubblewrap (works|does not work)/)
    // The chaos suite runs this file where there is an image.
    if (containerImage !== null) assert.include(here, "container", contained?.note)
    else
      assert.match(
        contained?.note ?? "",
        /^The executor container needs an image: --container-image|^Containers work on/
      )
  })

  it.effect("are the sandbox alone where nothing is chosen and it works, and `local` alone elsewhere", () =>
    Effect.map(seen(null), ({ entries, refused }) => {
      const best = sandboxed?.available === true ? "bubblewrap" : "local"
      assert.deepStrictEqual(
        entries.map(({ backend, available, default: isDefault }) => [backend, available, isDefault]),
        builtInExecutors.map((name) => [name, name === best, name === best])
      )
      const absent = refused.find((each) => each._tag === "Left")
      assert.instanceOf(absent?.left, ExecutorError)
      assert.include(
        entries.map(({ note }) => note),
        absent?.left.message
      )
    })
  )

  it.effect("are only those that are chosen, and a session that names no other gets the first", () =>
    Effect.map(seen(["local"]), ({ chosen, entries }) => {
      assert.deepStrictEqual(
        entries.filter(({ available }) => available).map(({ backend }) => backend),
        ["local"]
      )
      assert.strictEqual(chosen._tag === "Right" && chosen.right, "local")
      assert.match(entries[0]?.note ?? "", /does not run agents on bubblewrap.+--executor/)
    })
  )

  it.effect("refuse every session where none is left", () =>
    Effect.map(seen([]), ({ chosen, entries }) => {
      assert.isTrue(entries.every(({ available, default: isDefault }) => !available && !isDefault))
      assert.strictEqual(chosen._tag === "Left" && chosen.left.code, "executor_unavailable")
    })
  )
})

describe("executors of a program", () => {
  const one: Executor = {
    backend: "one",
    isolation: {
      level: "sandbox",
      process_group: true,
      own_home: true,
      filesystem: "restricted",
      network: "restricted",
      summary: "one"
    },
    spawn: () => Effect.fail(new ExecutorError({ kind: "unavailable", message: "none" })),
    reap: () => Effect.succeed([])
  }

  it.effect("are the whole list, the first of them the default", () =>
    Effect.gen(function* () {
      const { choose, list, names } = yield* Executors
      assert.deepStrictEqual(names, ["one", "two"])
      assert.deepStrictEqual(
        (yield* list).map((each) => each.default),
        [true, false]
      )
      assert.strictEqual(yield* choose("two"), "two")
      assert.strictEqual((yield* Effect.flip(choose("local"))).code, "executor_unavailable")
    }).pipe(Effect.provide(Executors.layerOf([one, { ...one, backend: "two" }])))
  )
})
