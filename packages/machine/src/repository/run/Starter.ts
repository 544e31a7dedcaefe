import { type ChildProcess, spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { Writable } from "node:stream"
import { endBearing } from "./LostPrograms.js"
import {
  killGraceMs,
  type Program,
  type StartedProgram,
  signalGroup,
  startHere,
  type Taking
} from "./StartedProgram.js"

// Starts programs by a small process beside this one. Linux copies the tables of the memory of who starts a program, and that process stands still
// meanwhile: 2 ms with 130 MB, 9 ms with 400 MB. The small one takes a millisecond, and nobody waits for it.

/** The variable that the small process and all that it starts have, with a value of its own. */
const markName = "REINS_STARTER"

/** The bytes of an input or an output that are under way at most. */
const windowBytes = 1024 * 1024

/**
 * The small process, for `node -e`. It starts what it is told to, passes on what is written and read, and ends all of it when its owner is gone. It
 * runs in a group of its own and ignores the signals of a terminal, so that its owner can end in order.
 */
const starter = `
const { spawn } = require("node:child_process")
const running = new Map()
const tell = (message) => process.connected && process.send(message, undefined, undefined, () => undefined)
const signal = (child, name) => {
  try {
    process.kill(-child.pid, name)
  } catch {}
}
const end = (child) => {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const timer = setTimeout(signal, ${killGraceMs}, child, "SIGKILL")
  child.ending = () => {
    clearTimeout(timer)
    signal(child, "SIGKILL")
  }
  signal(child, "SIGTERM")
}
// A program writes no faster than the owner reads.
const pass = (id, name, output) => {
  let underWay = 0
  output.on("data", (chunk) => {
    if (!process.connected) return
    underWay += chunk.length
    if (underWay > ${windowBytes}) output.pause()
    process.send({ id, [name]: chunk }, undefined, undefined, () => {
      underWay -= chunk.length
      output.resume()
    })
  })
}
const start = (id, { file, args, cwd, env, input }) => {
  const marked = { ...env, ${markName}: process.env.${markName} }
  const child = spawn(file, args, { cwd, env: marked, detached: true, stdio: "pipe" })
  running.set(id, child)
  for (const name of ["stdout", "stderr"]) pass(id, name, child[name])
  child.stdin.on("error", () => tell({ id, broken: true }))
  child.once("error", () => {
    running.delete(id)
    tell({ id, failed: true })
  })
  child.once("close", (code) => {
    child.ending?.()
    if (running.delete(id)) tell({ id, closed: true, code })
  })
  if (child.pid !== undefined) tell({ id, pid: child.pid })
  if (input !== undefined) child.stdin.end(input)
}
process.on("message", ({ id, program, chunk, last, does }) => {
  if (program !== undefined) return start(id, program)
  const child = running.get(id)
  if (child === undefined) return
  if (chunk !== undefined) child.stdin.write(chunk, () => tell({ id, read: chunk.length }))
  if (last) child.stdin.end()
  if (does === "stop") {
    child.stdout.destroy()
    child.kill("SIGTERM")
  }
  if (does === "end") end(child)
})
process.on("disconnect", () => {
  for (const child of running.values()) {
    child.stdout.resume()
    child.stderr.resume()
    end(child)
  }
})
for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(name, () => undefined)
tell({ ready: true })
`

/** A message of the small process, of a program or of itself. */
interface Told {
  readonly id?: number
  readonly ready?: true
  readonly pid?: number
  readonly stdout?: Uint8Array
  readonly stderr?: Uint8Array
  /** So many bytes of the input were passed on. */
  readonly read?: number
  /** The program reads no more. */
  readonly broken?: true
  readonly failed?: true
  readonly closed?: true
  readonly code?: number | null
}

const bufferOf = ({ buffer, byteLength, byteOffset }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)

/** A program that the small process has started. */
class Started implements StartedProgram {
  private group: number | undefined
  private isOver = false
  private isStopped = false
  private underWay = 0
  private goOn: (() => void) | undefined
  private ended: () => void = () => undefined
  private readonly whenOver = new Promise<void>((resolve) => {
    this.ended = resolve
  })
  readonly stdin: Writable

  constructor(
    private readonly isFed: boolean,
    private readonly taking: Taking,
    private readonly tell: (message: object) => void
  ) {
    this.stdin = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        this.tell({ chunk })
        this.underWay += chunk.length
        if (this.underWay < windowBytes) done()
        else this.goOn = done
      },
      final: (done) => {
        this.tell({ last: true })
        done()
      }
    })
    this.stdin.on("error", () => undefined)
  }

  readonly stop = (): void => {
    this.isStopped = true
    this.tell({ does: "stop" })
  }

  readonly end = (): Promise<void> => {
    if (!this.isOver) this.tell({ does: "end" })
    return this.whenOver
  }

  /** True once it is over. */
  readonly take = (told: Told): boolean => {
    if (told.pid !== undefined) this.group = told.pid
    if (told.stdout !== undefined && !this.isStopped) this.taking.stdout(bufferOf(told.stdout))
    if (told.stderr !== undefined) this.taking.stderr(bufferOf(told.stderr))
    if (told.read !== undefined) this.passedOn(told.read)
    if (told.broken === true) this.breakPipe()
    if (told.failed === true) this.finish(this.taking.failed)
    if (told.closed === true) this.finish(() => this.taking.closed(told.code ?? null))
    return this.isOver
  }

  readonly kill = (): void => {
    if (this.group !== undefined) signalGroup(this.group, "SIGKILL")
  }

  /** The small process is gone, and with it whatever the program would have said. */
  readonly lose = (): void => this.finish(() => this.taking.closed(null))

  private passedOn(bytes: number): void {
    this.underWay -= bytes
    if (this.underWay >= windowBytes || this.goOn === undefined) return
    const goOn = this.goOn
    this.goOn = undefined
    goOn()
  }

  private breakPipe(): void {
    this.stdin.destroy(Object.assign(new Error("the program reads no more"), { code: "EPIPE" }))
  }

  private finish(tellEnd: () => void): void {
    this.isOver = true
    if (this.isFed && !this.stdin.writableFinished) this.breakPipe()
    tellEnd()
    this.ended()
  }
}

/** The small process, and the programs that it has started. */
class Starter {
  private readonly running = new Map<number, Started>()
  private newest = 0
  isReady = false
  isLost = false

  constructor(
    private readonly child: ChildProcess,
    private readonly mark: string
  ) {
    child.unref()
    child.channel?.unref()
    child.on("message", (told: Told) => this.take(told))
    // Its last messages come before "disconnect", and may come after "exit".
    for (const event of ["error", "disconnect"]) child.once(event, () => void this.lose())
  }

  readonly start = (program: Program, taking: Taking): StartedProgram => {
    const id = ++this.newest
    const tell = (message: object) => {
      if (this.child.connected) this.child.send({ id, ...message }, () => undefined)
    }
    const started = new Started(program.input === undefined, taking, tell)
    // This process waits for the program, as it does for a child of its own.
    if (this.running.size === 0) this.child.channel?.ref()
    this.running.set(id, started)
    tell({ program })
    return started
  }

  /** Ends it, and waits until it has ended with all that it has started. */
  readonly close = (): Promise<void> =>
    new Promise((resolve) => {
      if (this.child.exitCode !== null || this.child.signalCode !== null) return resolve()
      this.child.once("exit", () => resolve())
      this.child.ref()
      if (this.child.connected) this.child.disconnect()
    })

  private take(told: Told): void {
    if (told.ready === true) this.isReady = true
    const { id = 0 } = told
    if (this.running.get(id)?.take(told) !== true) return
    this.running.delete(id)
    if (this.running.size === 0) this.child.channel?.unref()
  }

  private async lose(): Promise<void> {
    if (this.isLost) return
    this.isLost = true
    const lost = [...this.running.values()]
    for (const started of lost) started.kill()
    // It may have gone between the start of a program and the word of it.
    if (lost.length > 0) await endBearing(this.mark)
    for (const started of lost) started.lose()
    this.running.clear()
  }
}

/** A process that starts fewer programs than this starts them itself: the small process costs it 50 ms and 20 MB. */
const few = 12

/** The small process is started so often at most. It may be that it cannot live here. */
const mostStarts = 4

let count = 0
let starts = 0
let current: Starter | undefined

const spawnStarter = (): Starter => {
  starts++
  const mark = randomUUID()
  const child = spawn(process.execPath, ["--max-old-space-size=64", "--max-semi-space-size=1", "-e", starter], {
    cwd: "/",
    env: { PATH: process.env["PATH"] ?? "/usr/bin:/bin", [markName]: mark },
    detached: true,
    stdio: ["ignore", "ignore", "ignore", "ipc"],
    serialization: "advanced"
  })
  return new Starter(child, `${markName}=${mark}`)
}

/** Starts a program: by the small process once there is one, or else as a child of this one. */
export const startProgram = (program: Program, taking: Taking): StartedProgram => {
  if (++count > few && (current === undefined || current.isLost) && starts < mostStarts) current = spawnStarter()
  return current?.isReady === true && !current.isLost ? current.start(program, taking) : startHere(program, taking)
}

/** Ends the small process in order. One whose owner is killed ends by itself. */
export const endStarter = async (): Promise<void> => {
  if (current === undefined) return
  const ended = current
  current = undefined
  starts--
  await ended.close()
}
