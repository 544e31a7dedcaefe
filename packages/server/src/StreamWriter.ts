import type { ServerResponse } from "node:http"
import { bytesOf, type Sink } from "@reins/core/events/Audience"
import type { Exchange } from "./http/Exchange.js"

/** Why a stream ends; `refused` when its caller would no longer be given it, as the answer to the next request says. */
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
    // To write after the end is an error that nobody would catch.
    if (this.response.writableEnded) return false
    const bytes = bytesOf(frames)
    // Moves the reader on beyond what it did not ask for, so that it does not come back to it.
    const isMovedOn = frames.at(-1)?.event.seq !== cursor
    if (this.response.write(isMovedOn ? Buffer.concat([bytes, Buffer.from(`id: ${cursor}\n\n`)]) : bytes)) return true
    this.stalled = setTimeout(this.whenStalled, this.patienceMs)
    this.response.once("drain", () => {
      clearTimeout(this.stalled)
      this.resume()
    })
    return false
  }

  /** Left out while the client does not read: it gets the words with the log. */
  readonly delta = (frame: Buffer): void => {
    if (this.isTaking) this.response.write(frame)
  }

  /** The first bytes go out at once, so that a client knows that it is connected. */
  open(exchange: Exchange, subscription: { readonly watermark: number; readonly resume: () => void }): void {
    this.resume = subscription.resume
    this.response.writeHead(200, {
      ...exchange.headers,
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      // A client that comes back needs a server that is there: over this connection it would find one that is being stopped. And one that
      // was cut off for not reading is not used for another request.
      connection: "close",
      "x-accel-buffering": "no"
    })
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

  /** Leaves the connection behind. Its end may still get through; if the client goes on to take nothing, it is cut. */
  readonly close = (): void => {
    clearTimeout(this.stalled)
    if (!this.response.writableEnded) this.response.end()
    if (!this.response.writableFinished)
      setTimeout(() => this.response.writableFinished || this.response.destroy(), this.patienceMs).unref()
  }
}
