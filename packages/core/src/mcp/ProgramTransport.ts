import type { Transport } from "@modelcontextprotocol/client"
import { foreignJson } from "@reins/base/base/ForeignJson"
import type { RunningProgram } from "@reins/machine/executor/SidePrograms"
import { Deferred, Effect, Runtime, type Scope, Stream } from "effect"
import { foreignMessage } from "./ForeignMessage.js"
import { ServerUnusable } from "./GuardedFetch.js"

/** A transport over a program. */
export interface ProgramTransport {
  readonly transport: Transport
  /** Waits for the end of the transport, with what was wrong with the program; undefined where it has ended by itself. */
  readonly over: Effect.Effect<Error | undefined>
}

/**
 * A transport over the standard input and output of a program. It ends with the program, and a line over `maxBytes` ends it too. The scope of the
 * program closes it.
 */
export const programTransport = (
  { exit, lines, write }: RunningProgram,
  maxBytes: number
): Effect.Effect<ProgramTransport, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = Runtime.runPromise(yield* Effect.runtime<never>())
    const closed = yield* Deferred.make<Error | undefined>()
    let isClosed = false
    const transport: Transport = {
      start: async () => undefined,
      send: async (message) => {
        const sent = await run(Effect.either(write(JSON.stringify(message))))
        if (sent._tag === "Left") throw new ServerUnusable(sent.left.message)
      },
      close: async () => ended()
    }
    const ended = (problem?: Error): void => {
      if (isClosed) return
      isClosed = true
      Deferred.unsafeDone(closed, Effect.succeed(problem))
      if (problem !== undefined) transport.onerror?.(problem)
      transport.onclose?.()
    }
    const take = (line: string) =>
      Effect.sync(() => {
        if (isClosed) return
        if (Buffer.byteLength(line) > maxBytes)
          return ended(
            new ServerUnusable(`The program answers with more than ${maxBytes} bytes. Ask it for less at once.`)
          )
        // A program may print other lines while it starts.
        const message = foreignMessage(foreignJson(line))
        if (message !== undefined) transport.onmessage?.(message)
      })
    const over = Effect.sync(() => ended())
    yield* Effect.addFinalizer(() => over)
    // No answer comes any more of a program whose lines cannot be read, also where it writes on.
    const read = Effect.catchAll(Stream.runForEach(lines, take), () =>
      Effect.sync(() => ended(new ServerUnusable("The program wrote a line that does not end.")))
    )
    yield* Effect.forkScoped(Effect.zipRight(read, Effect.zipRight(exit, over)))
    return { transport, over: Deferred.await(closed) }
  })
