import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { type AgentLimits, defaultAgentLimits } from "@reins/base/base/AgentLimits"
import { newBootId } from "@reins/base/base/Boot"
import { resourceLimits } from "@reins/base/domain/ExecutorLimits"
import * as Bubblewrap from "@reins/machine/executor/Bubblewrap"
import { streams } from "@reins/machine/executor/Descriptors"
import { lowerable, noLimits } from "@reins/machine/executor/EnforcedLimits"
import * as Bridge from "@reins/machine/executor/sandbox/Bridge"
import * as Cgroups from "@reins/machine/executor/sandbox/Cgroups"
import { shellCommand } from "@reins/testing/executor/ExecutorSuite"
import { eventually } from "@reins/testing/process/Waiting"
import { Chunk, Effect, Either, Stream } from "effect"

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-bubblewrap-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** A relay that answers with its own port. */
const relay = Effect.acquireRelease(
  Effect.async<{ readonly port: number; readonly close: () => unknown }>((resume) => {
    const server = createServer((socket) => socket.on("error", () => undefined).end(`relay ${port()}\n`))
    const port = () => {
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : 0
    }
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ port: port(), close: () => server.close() })))
  }),
  ({ close }) => Effect.sync(close)
)

const destroyAll = (sockets: Iterable<Socket>) => {
  for (const socket of sockets) socket.destroy()
}

/** A relay that holds every connection. */
const holding = Effect.acquireRelease(
  Effect.async<{
    readonly port: number
    readonly open: Set<Socket>
    most: () => number
    count: () => number
    close: () => void
  }>((resume) => {
    const open = new Set<Socket>()
    let [count, most] = [0, 0]
    const server = createServer((socket) => {
      open.add(socket.on("error", () => undefined).resume())
      socket.once("close", () => open.delete(socket))
      count += 1
      most = Math.max(most, open.size)
    })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      const close = () => {
        server.close()
        for (const each of open) each.destroy()
      }
      resume(Effect.succeed({ port, open, most: () => most, count: () => count, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

describe("the parts of the sandbox", () => {
  // The path of a socket may have 107 bytes on Linux. In the temporary directory it takes 32 of them.
  for (const [bytes, letter, works] of [
    [74, "x", true],
    [75, "x", true],
    [76, "x", false],
    [75, "é", true],
    [77, "é", false],
    [180, "x", false]
  ] as const)
    it.scopedLive(
      `a temporary directory of ${bytes} bytes of ${letter} ${works ? "has" : "is told to be too long for"} a socket`,
      () =>
        Effect.gen(function* () {
          const parent = yield* directory
          const left = bytes - parent.length - 1
          const long = join(
            parent,
            letter.repeat(left / Buffer.byteLength(letter)) + "x".repeat(left % Buffer.byteLength(letter))
          )
          mkdirSync(long)
          const before = process.env["TMPDIR"]
          process.env["TMPDIR"] = long
          const made = yield* Bridge.make(newBootId(), [1]).pipe(
            Effect.map(({ socket }) => existsSync(socket)),
            Effect.scoped,
            Effect.either,
            Effect.ensuring(
              Effect.sync(() => {
                if (before === undefined) delete process.env["TMPDIR"]
                else process.env["TMPDIR"] = before
              })
            )
          )
          if (works) assert.deepStrictEqual(made, Either.right(true))
          else assert.include(Either.isLeft(made) ? made.left.message : "", "its path is short")
          assert.deepStrictEqual(readdirSync(long), [])
        })
    )

  it.scopedLive("the bridge leads to the relays of its agent and to no other listener", () =>
    Effect.gen(function* () {
      const [mine, other] = [yield* relay, yield* relay]
      const bridge = yield* Bridge.make(newBootId(), [mine.port])
      const said = (port: number) =>
        Effect.promise(async () => {
          const socket = connect(bridge.socket)
          // The port may come in pieces.
          socket.write(Buffer.from([port >> 8]), () => socket.write(Buffer.from([port & 255])))
          let text = ""
          for await (const chunk of socket) text += String(chunk)
          return text
        })
      assert.strictEqual(yield* said(mine.port), `relay ${mine.port}\n`)
      assert.deepStrictEqual([yield* said(other.port), yield* said(80), yield* said(0)], ["", "", ""])
      yield* bridge.open
    })
  )

  it.scopedLive(
    "the bridge joins a bounded number of connections with a relay, and the next ones when those have ended",
    () =>
      Effect.gen(function* () {
        const held = yield* holding
        const bridge = yield* Bridge.make(newBootId(), [held.port])
        const sockets = Array.from({ length: Bridge.maxJoined + 5 }, () =>
          connect(bridge.socket)
            .on("error", () => undefined)
            .on("close", () => undefined)
        )
        yield* Effect.addFinalizer(() => Effect.sync(() => destroyAll(sockets)))
        for (const socket of sockets) socket.write(Buffer.from([held.port >> 8, held.port & 255]))
        yield* Effect.promise(() => eventually("all places are taken", () => held.open.size === Bridge.maxJoined))
        for (const each of [...held.open].slice(0, 5)) each.end()
        yield* Effect.promise(() => eventually("the next ones are joined", () => held.count() === Bridge.maxJoined + 5))
        // A relay may hear of an end after the bridge.
        assert.isBelow(held.most(), Bridge.maxJoined + 5)
      })
  )

  it.scopedLive("cgroups are those that were delegated to this process alone, with every limit, and are removed", () =>
    Effect.gen(function* () {
      const root = yield* directory
      const base = join(root, "service")
      mkdirSync(base)
      const files = {
        "cgroup.controllers": "cpu io memory pids\n",
        "cgroup.procs": "7\n",
        "cgroup.subtree_control": ""
      }
      for (const [name, text] of Object.entries(files)) writeFileSync(join(base, name), text)
      const self = join(root, "self")
      writeFileSync(self, "1:name=systemd:/other\n0::/service\n")
      assert.isUndefined(Cgroups.delegated(root, self, 8), "another process is in the cgroup")
      const cgroups = Cgroups.delegated(root, self, 7)
      assert.strictEqual(readFileSync(join(base, "cgroup.subtree_control"), "utf8"), "+cpu +memory +pids")
      assert.strictEqual(readFileSync(join(base, "reins-server/cgroup.procs"), "utf8"), "7")
      if (cgroups === undefined) return assert.fail("the cgroup was delegated")
      const { processes, reason } = yield* cgroups.make(defaultAgentLimits)
      const read = (name: string) => readFileSync(join(processes, "..", name), "utf8")
      assert.deepStrictEqual(["memory.max", "pids.max", "cpu.max", "memory.swap.max", "memory.oom.group"].map(read), [
        "4294967296",
        "1024",
        "400000 100000",
        "0",
        "1"
      ])
      writeFileSync(join(processes, "../memory.events"), "max 7\noom 1\noom_kill 0\noom_group_kill 0\n")
      assert.isUndefined(reason())
      writeFileSync(join(processes, "../memory.events"), "max 7\noom 1\noom_kill 3\noom_group_kill 1\n")
      assert.strictEqual(
        reason(),
        "The agent was ended because it may have 4096 MiB of memory, and took more than that."
      )
      writeFileSync(join(base, "cgroup.controllers"), "cpu io\n")
      assert.isUndefined(Cgroups.delegated(root, self, 7), "memory cannot be limited")
      assert.isUndefined(Cgroups.delegated(root, join(root, "absent"), 7))
    })
  )

  it("the pipes of an agent hide every descriptor that the service has inherited", () => {
    const all = streams(6)
    assert.deepStrictEqual(all.slice(0, 9), Array(9).fill("pipe"))
    assert.isTrue(all.slice(9).every((each) => each === "ignore" || typeof each === "number"))
  })
})

const made = await Effect.runPromise(Effect.either(Bubblewrap.make(`boot_bubblewrap_${process.pid}`)))

// Executors.test.ts says why where there is none, and fails where there has to be one.
if (Either.isRight(made)) {
  describe("the executor bubblewrap on this machine", () => {
    const run = Effect.fnUntraced(function* (script: string, relayPorts: ReadonlyArray<number>) {
      const make = yield* shellCommand
      const agent = yield* made.right.spawn(make(script, { relayPorts }))
      yield* agent.write("go")
      return Chunk.toReadonlyArray(yield* Stream.runCollect(agent.lines))
    })

    it.scopedLive("an agent reaches all relays that it is given by the time of its first line, and nothing else", () =>
      Effect.gen(function* () {
        const relays = [yield* relay, yield* relay, yield* relay]
        const [one, two, closed] = relays.map(({ port }) => port)
        const ask = (port = 0) => `(exec 3<>/dev/tcp/127.0.0.1/${port} && head -n 1 <&3) 2>/dev/null || echo none`
        const script = `exec bash -c 'read line; ${[one, two, closed].map(ask).join("; ")}'`
        assert.deepStrictEqual(yield* run(script, [one ?? 0, two ?? 0]), [`relay ${one}`, `relay ${two}`, "none"])
      })
    )

    it.scopedLive("a polite request reaches the agent before it is killed", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const script = "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done"
        const agent = yield* made.right.spawn(make(script, { stop: { stdin_eof_ms: 50, sigterm_ms: 10_000 } }))
        const lines = yield* Effect.fork(Stream.runCollect(Stream.tap(agent.lines, () => Effect.fork(agent.stop()))))
        assert.deepStrictEqual([...(yield* lines)], ["ready", "bye"])
        assert.deepStrictEqual(yield* agent.exit, { code: 5, signal: null })
      })
    )

    it.scopedLive("a signal that ends the agent inside is told as that signal, and a code as that code", () =>
      Effect.gen(function* () {
        const make = yield* shellCommand
        const ended = (script: string) => Effect.flatMap(made.right.spawn(make(script)), ({ exit }) => exit)
        assert.deepStrictEqual(yield* ended("kill -SEGV $$"), { code: null, signal: "SIGSEGV" })
        assert.deepStrictEqual(yield* ended("exit 128"), { code: 128, signal: null })
      })
    )

    it.scopedLive("an agent whose files grow too large is ended with the reason", () =>
      Effect.gen(function* () {
        const small = yield* Bubblewrap.make("boot_bubblewrap_small", { ...defaultAgentLimits, diskBytes: 1024 * 1024 })
        const make = yield* shellCommand
        const script = "for n in 1 2 3; do head -c 1000000 /dev/zero >$n; done; exec tail -f /dev/null"
        const agent = yield* small.spawn(make(script))
        assert.deepStrictEqual(yield* agent.exit, {
          code: null,
          signal: "SIGKILL",
          reason: "The agent was ended because it may have 1 MiB of files, and took 3 MiB."
        })
      })
    )

    it.scopedLive("a command lowers the limits and never raises them, and all are enforced where cgroups are", () =>
      Effect.gen(function* () {
        const root = yield* directory
        const asked: Array<AgentLimits> = []
        const cgroups: Cgroups.Cgroups = {
          make: (limits) =>
            Effect.sync(() => {
              asked.push(limits)
              return { processes: join(root, "cgroup.procs"), reason: () => undefined }
            })
        }
        const executor = yield* Bubblewrap.make("boot_bubblewrap_limits", defaultAgentLimits, cgroups)
        assert.sameMembers(
          [...lowerable(executor.isolation.limits ?? noLimits)],
          ["memory_bytes", "processors", "processes", "disk_bytes"]
        )
        const make = yield* shellCommand
        const run = (limits: NonNullable<ReturnType<typeof make>["limits"]>) =>
          Effect.scoped(Effect.flatMap(executor.spawn(make("exit 0", { limits })), ({ exit }) => exit))
        yield* run({ memory_bytes: 1024 ** 3, processors: 0.5, processes: 64, disk_bytes: 2 ** 40 })
        yield* run({ processes: 1_000_000 })
        assert.deepStrictEqual(asked, [
          { ...defaultAgentLimits, memoryBytes: 1024 ** 3, processors: 0.5, processes: 64 },
          defaultAgentLimits
        ])
        const here = Cgroups.delegated() === undefined ? ["disk_bytes"] : [...resourceLimits]
        assert.deepStrictEqual([...lowerable(made.right.isolation.limits ?? noLimits)], here)
      })
    )

    it.scopedLive("an agent that opens more connections than a relay gets waits for its places", () =>
      Effect.gen(function* () {
        const held = yield* holding
        const make = yield* shellCommand
        const most = Bridge.maxJoined
        const script =
          `const net = require("node:net"); let ended = 0; for (let i = 0; i < ${most + 20}; i++) ` +
          `net.connect(${held.port}, "127.0.0.1").on("error", () => {}).on("close", () => { if (++ended === ${most + 20}) process.exit() }).resume()`
        const agent = yield* made.right.spawn(
          make(`read line; exec ${process.execPath} -e '${script}'`, { relayPorts: [held.port] })
        )
        yield* agent.write("go")
        yield* Effect.promise(() => eventually("all places are taken", () => held.open.size === most))
        const exit = yield* Effect.fork(agent.exit)
        yield* Effect.promise(() =>
          eventually("all have had their turn", () => {
            destroyAll([...held.open].slice(0, 10))
            return exit.unsafePoll() !== null
          })
        )
        assert.strictEqual(held.count(), most + 20)
        assert.isBelow(held.most(), most + 20)
      })
    )

    it.scopedLive("the socket of the bridge is removed with the agent", () =>
      Effect.gen(function* () {
        const { port } = yield* relay
        const make = yield* shellCommand
        const socket = yield* Effect.scoped(
          Effect.gen(function* () {
            const agent = yield* made.right.spawn(make("exec cat", { relayPorts: [port] }))
            yield* agent.write("go")
            yield* Stream.runHead(agent.lines)
            const args = readFileSync(`/proc/${agent.pid}/cmdline`, "utf8").split("\0")
            return args[args.indexOf(Bridge.socketInside) - 1] ?? ""
          })
        )
        assert.match(socket, /reins-way-/)
        assert.isFalse(existsSync(socket))
      })
    )
  })
}
