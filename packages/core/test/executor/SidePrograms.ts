import { Effect, Layer, Stream } from "effect"
import { Boot } from "../../../base/src/base/Boot.js"
import { CoreConfig } from "../../../base/src/base/CoreConfig.js"
import { Executors } from "../../../machine/src/executor/Executors.js"
import { SidePrograms } from "../../../machine/src/executor/SidePrograms.js"
import { WayOut } from "../../../machine/src/outbound/WayOut.js"

// A process of its own that runs a program of a project, says its boot once the program speaks, and waits to be killed.

const [dataDir = "", mark = ""] = process.argv.slice(2)

const parts = SidePrograms.layer.pipe(
  Layer.provide(Layer.merge(Executors.layer, WayOut.layer)),
  Layer.provideMerge(Layer.merge(CoreConfig.layer({ dataDir, executors: ["bubblewrap"] }), Boot.layerSingle))
)

const main = Effect.gen(function* () {
  const program = yield* (yield* SidePrograms).open({
    argv: ["sh", "-c", `sleep 600 & echo ${mark}; wait`],
    environment: { PROGRAM_MARK: mark },
    network: undefined
  })
  yield* Stream.runHead(program.lines)
  process.stdout.write(`${(yield* Boot).bootId}\n`)
  return yield* Effect.never
}).pipe(Effect.scoped, Effect.provide(parts))

Effect.runPromise(main).catch((error) => {
  process.stderr.write(`${error}\n`)
  process.exit(1)
})
