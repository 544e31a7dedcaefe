import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, describe } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Executors } from "@reins/machine/executor/Executors"
import { SidePrograms } from "@reins/machine/executor/SidePrograms"
import { WayOut } from "@reins/machine/outbound/WayOut"
import { sandboxed } from "@reins/testing/executor/Sandbox"
import { temporary } from "@reins/testing/git/Fixture"
import { eventually } from "@reins/testing/process/Waiting"
import { Effect, Layer } from "effect"
import { build } from "esbuild"

const sources = pathToFileURL(join(import.meta.dirname, "../../src/store/SqliteDriver.ts")).href

/** The processes whose environment has the mark. */
const marked = (mark: string): ReadonlyArray<string> =>
  readdirSync("/proc").filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/environ`, "latin1").includes(`PROGRAM_MARK=${mark}`)
    } catch {
      return false
    }
  })

const parts = (dataDir: string) =>
  SidePrograms.layer.pipe(
    Layer.provide(Layer.merge(Executors.layer, WayOut.layer)),
    Layer.provide(Layer.merge(CoreConfig.layer({ dataDir, executors: ["bubblewrap"] }), Boot.layerSingle))
  )

describe("a program of a project", () => {
  sandboxed(
    "ends with a service that is killed, and the next one removes its home",
    () =>
      Effect.gen(function* () {
        const root = yield* temporary
        const program = join(root, "program.mjs")
        yield* Effect.promise(() =>
          build({
            entryPoints: [join(import.meta.dirname, "SidePrograms.ts")],
            outfile: program,
            bundle: true,
            platform: "node",
            format: "esm",
            conditions: ["@reins/source"],
            define: { "import.meta.url": JSON.stringify(sources) },
            banner: {
              js: `import { createRequire as requireFrom } from "node:module"; const require = requireFrom(${JSON.stringify(sources)});`
            },
            logLevel: "error"
          })
        )
        const dataDir = join(root, "data")
        const mark = `mark-${process.pid}-${Date.now()}`
        const service = spawn(process.execPath, [program, dataDir, mark], { stdio: ["ignore", "pipe", "inherit"] })
        const [said] = yield* Effect.promise(() => once(service.stdout, "data"))
        const bootId = String(said).trim()
        assert.isAbove(marked(mark).length, 0)
        service.kill("SIGKILL")
        yield* Effect.promise(() => eventually("the program has ended", () => marked(mark).length === 0))
        const home = join(dataDir, "programs", bootId)
        assert.isTrue(existsSync(home))
        yield* Effect.flatMap(SidePrograms, ({ sweep }) => sweep([bootId])).pipe(Effect.provide(parts(dataDir)))
        assert.isFalse(existsSync(home))
      }),
    120_000
  )
})
