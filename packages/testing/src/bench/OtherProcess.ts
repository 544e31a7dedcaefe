import { spawn } from "node:child_process"
import { once } from "node:events"
import { connect } from "node:net"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Bench } from "@reins/machine/bench/Bench"
import { Effect, Layer } from "effect"
import { build } from "esbuild"
import { cacheDir } from "../harness/Turns.js"
import { benchOver } from "./BenchClient.js"

const here = import.meta.dirname

/** The modules of the core are found from its sources, and those that ask for their own folder are the agents of tests. */
const sources = pathToFileURL(join(here, "../../../core/src/store/SqliteDriver.ts")).href

const bundled = (outfile: string) =>
  Effect.promise(() =>
    build({
      entryPoints: [join(here, "BenchProcess.ts")],
      outfile,
      bundle: true,
      platform: "node",
      format: "esm",
      conditions: ["@reins/source"],
      define: {
        "import.meta.url": JSON.stringify(sources),
        "import.meta.dirname": JSON.stringify(join(here, "../harness"))
      },
      banner: {
        js: `import { createRequire as requireFrom } from "node:module"; const require = requireFrom(${JSON.stringify(sources)});`
      },
      logLevel: "error"
    })
  )

/** A bench in a process of its own, with its own data directory, over a socket in the directory. The process ends with the scope. */
export const benchIn = (directory: string, dataDir: string) =>
  Layer.scoped(
    Bench,
    Effect.gen(function* () {
      const program = join(directory, "bench.mjs")
      const path = join(directory, "bench.sock")
      yield* bundled(program)
      const child = spawn(process.execPath, [program, path, dataDir, cacheDir], {
        stdio: ["ignore", "pipe", "inherit"]
      })
      const exited = once(child, "exit")
      yield* Effect.promise(() => Promise.race([once(child.stdout, "data"), exited]))
      const socket = connect(path)
      yield* Effect.promise(() => once(socket, "connect"))
      yield* Effect.addFinalizer(() =>
        Effect.promise(async () => {
          socket.destroy()
          await exited
        })
      )
      return benchOver(socket)
    })
  )
