import { AcpServer, type AgentFactory } from "@agentclientprotocol/sdk/experimental/server"

/** The connections of one key at a time. */
const mostConnections = 4
/** The most bytes that wait for an editor that does not read. */
const maxBufferedBytes = 8 * 1024 * 1024
/** The time that a connection over HTTP is kept while no request of it is open, in milliseconds. */
const idleMs = 60_000

export const connectionHeader = "acp-connection-id"

/** The connections of one key. Another key does not find them, because each has a server of the protocol of its own. */
export class HttpConnections {
  readonly server = new AcpServer({ createAgent: noAgent, maxBufferedBytes })
  private readonly all = new Set<HeldConnection>()
  private readonly named = new Map<string, HeldConnection>()

  constructor(private readonly whenEmpty: () => void) {}

  /** Counts a new connection; undefined for one too many. */
  readonly open = (): HeldConnection | undefined => {
    if (this.all.size >= mostConnections) return undefined
    const held = new HeldConnection({ named: (id) => this.named.set(id, held), ended: (id) => this.end(held, id) })
    this.all.add(held)
    return held
  }

  /** Counts a request of a connection; undefined where there is no such connection. */
  readonly use = (id: string): HeldConnection | undefined => {
    const held = this.named.get(id)
    held?.begin()
    return held
  }

  private end(held: HeldConnection, id: string | undefined): void {
    this.all.delete(held)
    if (id !== undefined && this.named.delete(id)) {
      const headers = { [connectionHeader]: id }
      // One that has ended by itself is not found, which is as good.
      void this.server.handleRequest(new Request("http://localhost/acp", { method: "DELETE", headers }))
    }
    if (this.all.size === 0) this.whenEmpty()
  }
}

const noAgent: AgentFactory = () => {
  throw new TypeError("Each connection brings its agent.")
}

interface Fate {
  readonly named: (id: string) => void
  readonly ended: (id: string | undefined) => void
}

/** A connection that counts until it has ended. Over HTTP it also ends when it is left alone. */
export class HeldConnection {
  private requests = 1
  private id: string | undefined
  private idle: NodeJS.Timeout | undefined
  private hasEnded = false

  constructor(private readonly fate: Fate) {}

  /** A connection without a name by the end of its first request was never made. */
  readonly name = (id: string): void => {
    this.id = id
    this.fate.named(id)
  }

  readonly begin = (): void => {
    this.requests += 1
    clearTimeout(this.idle)
  }

  readonly done = (): void => {
    this.requests -= 1
    if (this.hasEnded || this.requests > 0) return
    if (this.id === undefined) this.end()
    else this.idle = setTimeout(this.end, idleMs).unref()
  }

  readonly end = (): void => {
    if (this.hasEnded) return
    this.hasEnded = true
    clearTimeout(this.idle)
    this.fate.ended(this.id)
  }
}
