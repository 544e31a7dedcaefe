import { appendFileSync, readdirSync, readFileSync } from "node:fs"
import { afterAll } from "vitest"

/** Clock ticks of `/proc`, which are hundredths of a second in every Linux that Node runs on. */
const ticks = 100

/** Processor seconds of a process, and of its children that have ended and were waited for; zero for a process that is gone. */
const usedBy = (pid: string): { readonly own: number; readonly ended: number } => {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name of the program may hold spaces and brackets.
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ")
    const at = (field: number) => Number(fields[field - 3]) / ticks
    return { own: at(14) + at(15), ended: at(16) + at(17) }
  } catch {
    return { own: 0, ended: 0 }
  }
}

const childrenOf = (task: string): ReadonlyArray<string> => {
  try {
    return readFileSync(`/proc/self/task/${task}/children`, "utf8").split(" ").filter(Boolean)
  } catch {
    return []
  }
}

/** Processor seconds of this process, of its programs that have ended, and of those that live, with what they have started. */
const used = (): { readonly own: number; readonly ended: number; readonly living: number } => {
  const living = readdirSync("/proc/self/task")
    .flatMap(childrenOf)
    .reduce((total, pid) => {
      const { ended, own } = usedBy(pid)
      return total + own + ended
    }, 0)
  return { ...usedBy("self"), living }
}

const file = process.env["REINS_TEST_USAGE"]
// `scripts/test.mjs` names the file, and only where there is `/proc`.
if (file !== undefined) {
  const before = used()
  afterAll(({ file: { filepath } }) => {
    const after = used()
    const line = {
      path: filepath,
      worker: process.pid,
      own: after.own - before.own,
      programs: after.ended + after.living - before.ended - before.living,
      living: after.living
    }
    appendFileSync(file, `${JSON.stringify(line)}\n`)
  })
}
