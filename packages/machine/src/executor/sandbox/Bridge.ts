import { rm } from "node:fs/promises"
import net, { type Server, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeBootDirectory } from "@reins/base/base/BootDirectory"
import { Places } from "@reins/base/base/Places"
import { Deferred, Effect } from "effect"
import { ExecutorError } from "../Executor.js"

/** The place of the socket in the sandbox. */
export const socketInside = "/run/reins/way-out"

/**
 * The connections of one sandbox to one relay. Each takes three descriptors of the service. Further ones wait in the sandbox, where they take
 * those of the agent.
 */
export const maxJoined = 128

/**
 * The program in the sandbox, for `node -e`. It listens on the same ports as the relays outside, and each connection begins with two bytes that
 * say which one is meant. Zero says that all ports are open.
 */
export const program = `
const net = require("node:net")
const ports = process.argv.slice(1).map(Number)
const way = (port) => {
  const socket = net.connect({ path: ${JSON.stringify(socketInside)}, allowHalfOpen: true })
  socket.write(Buffer.from([port >> 8, port & 255]))
  return socket
}
let closed = ports.length
for (const port of ports) {
  let joined = 0
  const line = []
  const join = (agent) => {
    joined++
    const relay = way(port)
    agent.on("error", () => relay.destroy()).on("close", () => relay.destroySoon())
    relay.on("error", () => agent.destroy()).on("close", () => {
      agent.destroySoon()
      joined--
      const next = line.shift()
      if (next) join(next)
    })
    agent.pipe(relay).pipe(agent)
  }
  const server = net.createServer({ allowHalfOpen: true, pauseOnConnect: true }, (agent) => {
    agent.on("error", () => agent.destroy())
    if (joined < ${maxJoined}) join(agent)
    else line.push(agent)
  })
  server.listen(port, "127.0.0.1", () => {
    if (--closed === 0) way(0).end()
  })
}
`

/** The end of the bridge that is outside of a sandbox. */
export interface Bridge {
  /** The socket, to be mounted at `socketInside`. */
  readonly socket: string
  /** Done when the agent reaches the relays. */
  readonly open: Effect.Effect<void>
}

/**
 * Joins a connection from a sandbox with the relay that its first two bytes name. It leads to the given ports and to nothing else. An agent that
 * goes around the program in the sandbox waits here.
 */
const joinWithRelay = (from: Socket, ports: ReadonlyMap<number, Places>, opened: () => void) => {
  from.on("error", () => from.destroy())
  const begin = () => {
    const head: Buffer | null = from.read(2)
    if (head === null) return
    from.off("readable", begin)
    const port = head.readUInt16BE(0)
    if (port === 0) opened()
    const leave = ports.get(port)?.take(() => reach(port))
    if (leave === undefined) return from.destroy()
    from.once("close", leave)
  }
  const reach = (port: number) => {
    if (from.destroyed) return
    const relay = net.connect({ port, host: "127.0.0.1", allowHalfOpen: true })
    from.on("close", () => relay.destroySoon())
    relay.on("error", () => from.destroy()).on("close", () => from.destroySoon())
    from.pipe(relay).pipe(from)
  }
  from.on("readable", begin)
}

/** The longest path of a socket in bytes: `sun_path` of Linux and of macOS, less its last byte. */
const longestPath = process.platform === "darwin" ? 103 : 107

const listen = (server: Server, socket: string): Promise<void> =>
  new Promise((resolve, reject) => {
    // Node 20 cuts a longer one, and listens somewhere else.
    if (Buffer.byteLength(socket) > longestPath) return reject(new Error(`${socket} is too long`))
    server.once("error", reject)
    server.listen(socket, resolve).unref()
  })

const tryToMake = <A>(make: () => Promise<A>) =>
  Effect.tryPromise({
    try: make,
    catch: () =>
      new ExecutorError({
        kind: "spawn_failed",
        message: `No socket can be made in ${tmpdir()}. Check its space and its permissions, and that its path is short.`
      })
  })

/**
 * A socket through which one sandbox reaches the relays of these ports, until the scope closes. It lies in a directory of its own in the
 * temporary directory, because the path of a socket has to be short.
 */
export const make = (bootId: string, ports: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const opened = yield* Deferred.make<void>()
    const allowed = new Map(ports.map((port) => [port, new Places(maxJoined, maxJoined)] as const))
    const begun = new Set<Socket>()
    const server = net.createServer({ allowHalfOpen: true }, (from) => {
      begun.add(from.unref())
      from.once("close", () => begun.delete(from))
      joinWithRelay(from, allowed, () => Deferred.unsafeDone(opened, Effect.void))
    })
    server.maxConnections = (ports.length + 1) * 2 * maxJoined
    const directory = yield* Effect.acquireRelease(
      tryToMake(() => makeBootDirectory("way", bootId)),
      (path) =>
        Effect.promise(async () => {
          server.close()
          for (const from of begun) from.destroy()
          await rm(path, { recursive: true, force: true })
        })
    )
    const bridge: Bridge = { socket: join(directory, "s"), open: Deferred.await(opened) }
    yield* tryToMake(() => listen(server, bridge.socket))
    return bridge
  })
