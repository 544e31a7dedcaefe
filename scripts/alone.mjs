// One process at a time: two that install into one folder, or write the results of one compiler, would spoil each other's work.
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
/** No work takes longer. The number of a process that was killed may belong to another one by then. */
const longest = 20 * 60_000
const pause = new Int32Array(new SharedArrayBuffer(4))

const lives = (id) => {
  try {
    process.kill(id, 0)
    return true
  } catch (cause) {
    return cause.code === "EPERM"
  }
}

/** Gives the number of the process that holds the file, or nothing where it has ended or never said it. */
const holderOf = (file) => {
  try {
    const { mtimeMs } = statSync(file)
    const age = Date.now() - mtimeMs
    const id = Number(readFileSync(file, "utf8"))
    // A file without a number was made a moment ago, or its process was killed at once.
    if (!(id > 0)) return age < 5_000 ? "another process" : undefined
    return age < longest && lives(id) ? `process ${id}` : undefined
  } catch (cause) {
    if (cause.code === "ENOENT") return undefined
    throw cause
  }
}

const take = (file) => {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" })
    return true
  } catch (cause) {
    if (cause.code === "EEXIST") return false
    throw cause
  }
}

/** Takes away the file of a process that has ended. Of several that wait one does so, because a file can be renamed once. */
const clear = (file) => {
  const own = `${file}.${process.pid}`
  try {
    renameSync(file, own)
  } catch (cause) {
    if (cause.code === "ENOENT") return
    throw cause
  }
  // Another one that waited may have cleared it and taken it meanwhile.
  if (holderOf(own) === undefined) rmSync(own, { force: true })
  else renameSync(own, file)
}

const held = new Set()

/** Runs the work, which may be a promise, while no other process of this checkout runs one of the same name. Gives its result. */
export const alone = (name, work) => {
  const file = join(root, ".cache/locks", name)
  // The work of one process may have this as a part.
  if (held.has(file)) return work()
  mkdirSync(dirname(file), { recursive: true })
  let told = false
  while (!take(file)) {
    const holder = holderOf(file)
    if (holder === undefined) {
      clear(file)
      continue
    }
    if (!told) process.stderr.write(`- waiting for ${holder}, which does the same (${name}) ...\n`)
    told = true
    Atomics.wait(pause, 0, 0, 200)
  }
  held.add(file)
  const release = () => {
    held.delete(file)
    rmSync(file, { force: true })
  }
  // A command that fails ends this process in the middle of the work.
  process.once("exit", release)
  const end = () => {
    process.off("exit", release)
    release()
  }
  let result
  try {
    result = work()
  } catch (cause) {
    end()
    throw cause
  }
  if (result instanceof Promise) return result.finally(end)
  end()
  return result
}
