import { assert, it } from "@effect/vitest"
import * as Bubblewrap from "@reins/machine/executor/Bubblewrap"
import { denied, judged, type Machine, newest, numberOn } from "@reins/machine/executor/sandbox/Syscalls"
import { shellCommand } from "@reins/testing/executor/ExecutorSuite"
import { Chunk, Effect, Stream } from "effect"

const machine: Machine = process.arch === "arm64" ? "arm64" : "x64"
const numberOf = (name: keyof typeof judged): number => numberOn(machine, judged[name]) ?? 0

const [eperm, enosys, noFamily] = [1, 38, 97]

/** Calls with their arguments, and the errors that the filter answers them with; 0 for one that works. */
const calls: ReadonlyArray<readonly [name: string, error: number, number: number, ...args: ReadonlyArray<number>]> = [
  ...Object.entries(denied).flatMap(([name, numbers]) => {
    const number = numberOn(machine, numbers)
    return number === null ? [] : [[name, eperm, number] as const]
  }),
  ["clone3", enosys, numberOf("clone3")],
  ["a call that is newer than the filter", enosys, newest + 1],
  ["clone for a user namespace", eperm, numberOf("clone"), 0x10000000 | 17],
  ["a socket of AF_VSOCK", noFamily, numberOf("socket"), 40, 1],
  ["a socket of AF_NETLINK for the firewall", noFamily, numberOf("socket"), 16, 3, 12],
  ["characters for the terminal (TIOCSTI)", eperm, numberOf("ioctl"), 0, 0x5412],
  ["limits of another process", eperm, numberOf("prlimit64"), 2, 7, 0, 0],
  ["a socket of AF_UNIX", 0, numberOf("socket"), 1, 1],
  ["a socket of AF_INET", 0, numberOf("socket"), 2, 1],
  ["a socket of AF_NETLINK for addresses", 0, numberOf("socket"), 16, 3],
  ["limits of its own", 0, numberOf("prlimit64"), 0, 7, 0, 0]
]

/** Makes the calls one by one, and writes the error of each. */
const asking = calls
  .map(([, , number, ...args]) => {
    const all = [number, ...args, ...Array(6 - args.length).fill(0)].join(", ")
    return `$! = 0; $r = syscall(${all}); print(($r == -1 ? $! + 0 : 0), "\\n");`
  })
  .join("\n")

it.scopedLive(`the kernel answers agents on ${process.arch} as the filter says, for each call`, () =>
  Effect.gen(function* () {
    const executor = yield* Bubblewrap.make(`boot_filter_${process.pid}`)
    const make = yield* shellCommand
    const agent = yield* executor.spawn(make(`exec perl -e '${asking.replaceAll("'", "'\\''")}'`))
    const lines = Chunk.toReadonlyArray(yield* Stream.runCollect(agent.lines))
    assert.deepStrictEqual(
      calls.map(([name], index) => [name, Number(lines[index])]),
      calls.map(([name, error]) => [name, error])
    )
  })
)

it.scopedLive(`what agents run runs on ${process.arch}: threads, processes, servers and files`, () =>
  Effect.gen(function* () {
    const executor = yield* Bubblewrap.make(`boot_filter_${process.pid}`)
    const make = yield* shellCommand
    const program = `
      const { Worker } = require("worker_threads"), net = require("net"), fs = require("fs"), { execFileSync } = require("child_process")
      fs.writeFileSync("file", "x".repeat(100000)); fs.renameSync("file", "other"); fs.watch(".").close()
      console.log(execFileSync("sh", ["-c", "wc -c <other"], { encoding: "utf8" }).trim())
      new Worker("require('worker_threads').parentPort.postMessage('thread')", { eval: true }).on("message", console.log).on("exit", () => {
        const server = net.createServer((socket) => socket.end("served")).listen(0, "127.0.0.1", () =>
          net.connect(server.address().port).on("data", (data) => { console.log(String(data)); server.close() }))
      })`
    const agent = yield* executor.spawn(make(`exec "${process.execPath}" -e '${program.replaceAll("'", "'\\''")}'`))
    assert.deepStrictEqual([...(yield* Stream.runCollect(agent.lines))], ["100000", "thread", "served"])
  })
)
