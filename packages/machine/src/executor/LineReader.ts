import type { Readable } from "node:stream"
import { Effect, Exit, Mailbox, Option, Stream } from "effect"
import { ExecutorError } from "./Executor.js"

const newline = 0x0a
/** The number of lines that may wait for the reader before the pipe is paused. */
const waitingLines = 64

/**
 * The lines of a pipe. A line is decoded when it is complete, so a character that two chunks share stays whole. A slow reader pauses the pipe.
 * A line above `maxBytes` fails.
 */
export const make = (readable: Readable, maxBytes: number): Effect.Effect<Stream.Stream<string, ExecutorError>> =>
  Effect.gen(function* () {
    const mailbox = yield* Mailbox.make<string, ExecutorError>()
    let parts: Array<Buffer> = []
    let size = 0
    const flush = () => {
      if (size > 0) mailbox.unsafeOffer(Buffer.concat(parts, size).toString("utf8").replace(/\r$/, ""))
      parts = []
      size = 0
    }
    const keep = (part: Buffer) => {
      parts.push(part)
      size += part.length
    }
    readable.on("data", (chunk: Buffer) => {
      let start = 0
      for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
        keep(chunk.subarray(start, end))
        flush()
        start = end + 1
      }
      if (start < chunk.length) keep(chunk.subarray(start))
      if (size > maxBytes) {
        mailbox.unsafeDone(
          Exit.fail(new ExecutorError({ kind: "io", message: `The agent wrote a line above ${maxBytes} bytes.` }))
        )
        readable.destroy()
      } else if (Option.getOrElse(mailbox.unsafeSize(), () => 0) > waitingLines) {
        readable.pause()
      }
    })
    readable.once("close", () => {
      flush()
      mailbox.unsafeDone(Exit.void)
    })
    // A broken pipe closes the stream as well, and the exit of the process gives the reason.
    readable.on("error", () => undefined)
    return Mailbox.toStream(mailbox).pipe(
      Stream.chunks,
      Stream.tap(() => Effect.sync(() => readable.resume())),
      Stream.flattenChunks
    )
  })
