import type { ServerResponse } from "node:http"
import { frameBytes, type Sink } from "@reins/core/events/Audience"
import type { Exchange } from "./http/Exchange.js"
import { headerLines } from "./http/Reply.js"

/** The reason that a stream ends. It is `refused` when its caller may no longer read, as the answer to the next request says. */
export type EndReason = "max_seconds" | "shutdown" | "slow_consumer" | "refused"

/** Writes the frames of a stream straight to the connection, and takes no more while the client does not read. */
export class StreamWriter {
  private stalled: NodeJS.Timeout | undefined
  private resume: () => void = () => {}

  constructor(
    private readonly response: ServerResponse,
    private readonly whenStalled: () => void,
    private readonly patienceMs: number
  ) {}

  readonly sink: Sink = (frames, cursor) => {
    // A write after the end is an error that nobody would catch.
    if (this.response.writableEnded) return false
    const bytes = frameBytes(frames)
    // Moves the client beyond events that its filter left out, so that it does not ask for them again.
    const isMovedOn = frames.at(-1)?.event.seq !== cursor
    if (this.response.write(isMovedOn ? Buffer.concat([bytes, Buffer.from(`id: ${cursor}\n\n`)]) : bytes)) return true
    this.stalled = setTimeout(this.whenStalled, this.patienceMs)
    this.response.once("drain", () => {
      clearTimeout(this.stalled)
      this.resume()
    })
    return false
  }

  /** Sends a delta, unless the client does not read. It then gets the words with the events of the log. */
  readonly delta = (frame: Buffer): void => {
    if (this.isTaking) this.response.write(frame)
  }

  /** The first bytes go out at once, so that a client knows that it is connected. */
  open(exchange: Exchange, subscription: { readonly watermark: number; readonly resume: () => void }): void {
    this.resume = subscription.resume
    const own = {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      // A client that comes back needs a new connection: this one leads to a server that may be stopping, or was cut for not being read.
      connection: "close",
      "x-accel-buffering": "no"
    }
    this.response.writeHead(200, headerLines(exchange, own))
    this.response.write(`retry: 2000\n: watermark ${subscription.watermark}\n\n`)
    subscription.resume()
  }

  heartbeat(): void {
    if (this.isTaking) this.response.write(": heartbeat\n\n")
  }

  end(reason: EndReason, cursor: number): void {
    this.response.end(`event: stream.end\ndata: ${JSON.stringify({ reason, next_after: cursor })}\n\n`)
  }

  private get isTaking(): boolean {
    return !this.response.writableEnded && !this.response.writableNeedDrain
  }

  /** Gives the connection up. Its last bytes may still get through; a client that goes on not to read is cut off. */
  readonly close = (): void => {
    clearTimeout(this.stalled)
    if (!this.response.writableEnded) this.response.end()
    if (!this.response.writableFinished)
      setTimeout(() => this.response.writableFinished || this.response.destroy(), this.patienceMs).unref()
  }
}
