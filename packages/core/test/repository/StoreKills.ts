import { Effect, Layer } from "effect"
import { storeSweep } from "../../../machine/src/bench/StoreSweep.js"
import { storesAt } from "../../../machine/src/bench/StoresHere.js"
import { Git } from "../../../machine/src/git/Git.js"
import { WayOut } from "../../../machine/src/outbound/WayOut.js"
import { makeShared } from "../../src/worktrees/SessionLock.js"

// A process of its own that clones by way of a store, or drops stores, and kills itself at one of its steps. A step is a change of a file that the service
// makes, or the start of a git process.

const [what = "", killAt = "0", dataDir = "", name = "", url = "", session = ""] = process.argv.slice(2)
let step = 0

const next = (): void => {
  if (++step === Number(killAt)) process.kill(process.pid, "SIGKILL")
}

const changes = ["mkdir", "writeFile", "rename", "rm", "rmdir", "utimes", "copyFile", "cp", "open"] as const
const writable = process.getBuiltinModule("node:fs/promises") as unknown as Record<
  string,
  (...args: ReadonlyArray<unknown>) => Promise<unknown>
>
for (const change of changes) {
  const original = writable[change]
  if (original === undefined) throw new Error(`no ${change}`)
  writable[change] = async (...args) => {
    const result = await original(...args)
    next()
    return result
  }
}

const childProcess = process.getBuiltinModule("node:child_process")
const spawn = childProcess.spawn
childProcess.spawn = ((...args: Parameters<typeof spawn>) => {
  const child = spawn(...args)
  next()
  child.once("exit", next)
  return child
}) as typeof spawn
process.getBuiltinModule("node:module").syncBuiltinESMExports()

const clone = Effect.gen(function* () {
  const git = yield* Git
  const store = storesAt(`${dataDir}/object-stores`, makeShared)(name)
  const root = `${dataDir}/sessions/${session}`
  return yield* git.clone({ url, ref: null, gitDir: `${root}/trusted.git`, workTree: `${root}/workspace`, store })
}).pipe(
  Effect.provide(Git.layerWith({ allowFile: true }).pipe(Layer.provide(WayOut.layerWith({ allowPrivateHosts: [] }))))
)

const sweep = storeSweep(dataDir, makeShared)

void Effect.runPromise<unknown, unknown>(what === "clone" ? clone : sweep).then(() =>
  process.stdout.write(`steps ${step}\n`)
)
