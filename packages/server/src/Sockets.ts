import { readFileSync } from "node:fs"
import type { IncomingMessage, Server as NodeServer, ServerResponse } from "node:http"
import { connect, Server as NetServer, Socket } from "node:net"
import type { Duplex } from "node:stream"
import { turnOfTheLoop } from "@reins/base/base/EventLoop"
import { Effect } from "effect"
import { answerUnreadable } from "./http/Unreadable.js"

/**
 * The time in milliseconds that a client which still sends has to read its answer, and the bytes of its input that are thrown away meanwhile.
 */
const lingerMs = 2000
const lingerBytes = 16 * 1024 * 1024

/** Descriptors that are kept for the database, for agents and for files. */
const reserved = 96

/** Tracks the sockets of a server, so that no answer is cut off. */
export class Sockets {
  private readonly open = new Set<Socket>()
  private readonly latest = new WeakMap<Socket, ServerResponse>()
  private readonly answers = new Set<ServerResponse>()
  private readonly waiting = new Set<() => void>()

  constructor(private readonly node: NodeServer) {
    node.maxConnections = Math.max(reserved, descriptorLimit() - reserved)
    node.on("drop", () => this.closeOneIdle())
    node.on("connection", (socket: Socket) => {
      this.open.add(socket)
      this.linger(socket)
      socket.once("close", () => {
        this.open.delete(socket)
        this.changed()
      })
    })
    const began = (request: IncomingMessage, response: ServerResponse) => {
      this.latest.set(request.socket, response)
      this.answers.add(response)
      response.once("close", () => {
        this.answers.delete(response)
        this.changed()
      })
    }
    node.prependListener("request", began)
    // `readBody` asks for a body that was announced, so a refused body is never sent. Another expectation may be ignored.
    for (const event of ["checkContinue", "checkExpectation"])
      node.on(event, (request, response) => node.emit("request", request, response))
    node.on("clientError", (fault, socket) => this.refuseUnreadable(fault, socket))
  }

  /**
   * Completes once every connection that waits now has been accepted, and its first bytes have been read. Connections are accepted in the order
   * in which they came, one in each turn of the loop, so a connection of our own marks the last.
   */
  readonly arrived: Effect.Effect<void> = Effect.async<void>((resume) => {
    const address = this.node.address()
    if (address === null) return resume(Effect.void)
    const mark = typeof address === "string" ? connect(address) : connect(address.port, address.address)
    let isAccepted = false
    const onConnection = (socket: Socket) => {
      isAccepted ||= socket.remotePort === mark.localPort
      this.changed()
    }
    const looking = this.until(() => isAccepted || mark.errored !== null)
    mark.on("error", () => this.changed())
    this.node.on("connection", onConnection)
    resume(
      Effect.ensuring(
        Effect.zipRight(looking, Effect.repeatN(turnOfTheLoop, 1)),
        Effect.sync(() => {
          this.node.off("connection", onConnection)
          mark.destroy()
        })
      )
    )
  })

  /** Completes once the last byte of every answer that is under way now has gone out. */
  readonly answered: Effect.Effect<void> = Effect.suspend(() => {
    const begun = [...this.answers]
    return this.until(() => !begun.some((response) => this.answers.has(response)))
  })

  /** Completes once no connection is open. */
  readonly closed: Effect.Effect<void> = Effect.suspend(() => this.until(() => this.open.size === 0))

  /** Takes no more connections, and ends the connections without an answer under way. */
  readonly end: Effect.Effect<void> = Effect.sync(() => {
    // The method of the HTTP server would also cut off answers that are written but not sent.
    NetServer.prototype.close.call(this.node)
    for (const socket of this.open) if (!this.isAnswering(socket)) socket.end()
  })

  readonly destroy: Effect.Effect<void> = Effect.sync(() => {
    for (const socket of this.open) socket.destroy()
    this.node.close()
  })

  /** Answers bytes that are no request, unless the client would take that for the answer to its request before. */
  private refuseUnreadable(fault: NodeJS.ErrnoException, socket: Duplex): void {
    if (!(socket instanceof Socket)) return
    const response = this.latest.get(socket)
    const isOfAnother =
      response !== undefined && this.answers.has(response) && (response.headersSent || response.req.complete)
    if (socket.writable && !isOfAnother) socket.write(answerUnreadable(fault.code))
    socket.destroySoon()
  }

  private isAnswering(socket: Socket): boolean {
    const response = this.latest.get(socket)
    return response !== undefined && this.answers.has(response)
  }

  /** Makes room for the next connection when there is none left. */
  private closeOneIdle(): void {
    for (const socket of this.open) {
      if (!this.latest.has(socket) || this.isAnswering(socket)) continue
      socket.end()
      return
    }
  }

  /**
   * The kernel resets a connection that is closed while its client sends, and the client can lose its answer by that. So the end of the answer
   * is sent first, and the bytes that still come are thrown away for a while.
   */
  private linger(socket: Socket): void {
    const destroySoon = socket.destroySoon.bind(socket)
    socket.destroySoon = () => {
      const request = this.latest.get(socket)?.req
      if (request === undefined || request.complete) return destroySoon()
      socket.end()
      const limit = socket.bytesRead + lingerBytes
      request.on("data", () => {
        if (socket.bytesRead > limit) request.pause()
      })
      const timer = setTimeout(() => socket.destroy(), lingerMs)
      socket.once("close", () => clearTimeout(timer))
    }
  }

  private until(isDone: () => boolean): Effect.Effect<void> {
    return Effect.async((resume) => {
      const look = () => {
        if (!isDone()) return
        this.waiting.delete(look)
        resume(Effect.void)
      }
      this.waiting.add(look)
      look()
      return Effect.sync(() => this.waiting.delete(look))
    })
  }

  private changed(): void {
    for (const look of this.waiting) look()
  }
}

/** The most files and connections that this process may have open; infinite where that cannot be known. */
const descriptorLimit = (): number => {
  try {
    return Number(/^Max open files\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8"))?.[1] ?? Infinity)
  } catch {
    return Infinity
  }
}
