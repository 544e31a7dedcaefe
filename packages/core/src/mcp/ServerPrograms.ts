import { canonicalJson, digestOf } from "@reins/base/base/CanonicalJson"
import { type RunningProgram, SidePrograms } from "@reins/machine/executor/SidePrograms"
import { Effect, Option, RcMap, Redacted, Scope } from "effect"
import type { OpenServer } from "./OpenServer.js"
import { programTransport } from "./ProgramTransport.js"
import type { ServerBounds } from "./ServerBounds.js"
import { connectServer, type mcpLibrary, type ServerLink } from "./ServerClient.js"
import { ServerFailed } from "./ServerFailed.js"

/** A program that nobody has asked for so long is ended, in milliseconds. */
const idleMs = 10 * 60_000

/** A program may need to be downloaded by its starter, as by `npx`, in milliseconds. */
const startMs = 60_000

/** The most servers that are remembered. */
const mostKnown = 1000

/** A program that has ended by itself so often within that time is not started until the time is over. */
const mostEnds = 3
const endsWithinMs = 10 * 60_000

/** The program of a server as it was opened. A version whose secrets have changed gets another one. */
const keyOf = ({ environment, server, versionId }: OpenServer): string =>
  digestOf(
    canonicalJson([
      versionId,
      server.name,
      Object.entries(environment).map(([name, value]) => [
        name,
        Redacted.isRedacted(value) ? Redacted.value(value) : value
      ])
    ])
  )

/** The time in which a program that ends is seen to have ended. */
const moment = "200 millis"

/** The failure of a link, with the end of its program where that has ended. */
const explained = (
  { exit, lastWords }: RunningProgram,
  over: Effect.Effect<Error | undefined>,
  failure: ServerFailed
) =>
  Effect.gen(function* () {
    const problem = Option.getOrUndefined(yield* Effect.timeoutOption(over, moment))
    if (problem !== undefined)
      return new ServerFailed({ message: problem.message, mayHaveHappened: failure.mayHaveHappened })
    const found = yield* Effect.timeoutOption(exit, moment)
    if (Option.isNone(found)) return failure
    const { code, reason, signal } = found.value
    const how = code === null ? `by ${signal ?? "a signal"}` : `with exit code ${code}`
    const words = reason ?? (yield* lastWords)
    return new ServerFailed({
      message: `Its program has ended ${how}.${words === "" ? "" : ` It wrote last: ${words}`}`,
      mayHaveHappened: failure.mayHaveHappened
    })
  })

const failed = (message: string) => new ServerFailed({ message, mayHaveHappened: false })

/** Gives links to servers that are programs. The program of a version is shared by its sessions, and kept while it is used. */
export const serverPrograms = Effect.fnUntraced(function* (library: typeof mcpLibrary, bounds: ServerBounds) {
  const programs = yield* SidePrograms
  const load = yield* library
  const opened = new Map<string, OpenServer>()
  /** The times at which the programs of a key have ended by themselves. */
  const ends = new Map<string, Array<number>>()

  const started = Effect.fnUntraced(function* (key: string) {
    const open = opened.get(key)
    const command = open?.server.command
    if (open === undefined || command === undefined) return yield* Effect.dieMessage("the server is no program")
    const recent = (ends.get(key) ?? []).filter((at) => at > Date.now() - endsWithinMs)
    if (ends.size >= mostKnown) ends.clear()
    ends.set(key, recent)
    if (recent.length >= mostEnds)
      return yield* failed(
        `Its program has ended ${recent.length} times within ten minutes, so it is not started for now.`
      )
    const program = yield* Effect.mapError(
      programs.open({ argv: command, environment: open.environment, network: open.server.network }),
      ({ message }) => failed(message)
    )
    const { over, transport } = yield* programTransport(program, bounds.maxBytes)
    const gone = Effect.zipRight(
      over,
      Effect.suspend(() => {
        ends.set(key, [...(ends.get(key) ?? []), Date.now()])
        // The scope that this closes is that of the fiber itself.
        return Effect.forkDaemon(RcMap.invalidate(links, key))
      })
    )
    const told = <A>(asked: Effect.Effect<A, ServerFailed>): Effect.Effect<A, ServerFailed> =>
      Effect.catchAll(asked, (failure) =>
        Effect.flatMap(explained(program, over, failure), (known) => Effect.fail(known))
      )
    const connecting = connectServer(yield* load, { transport, bounds, startMs })
    const scope = yield* Effect.scope
    const link = yield* told(Scope.extend(connecting, scope))
    yield* Effect.forkScoped(gone)
    const lasting: ServerLink = {
      protocol: link.protocol,
      list: told(link.list),
      call: (tool, input) => told(link.call(tool, input))
    }
    return lasting
  })

  const links: RcMap.RcMap<string, ServerLink, ServerFailed> = yield* RcMap.make({
    lookup: started,
    idleTimeToLive: idleMs
  })

  return (open: OpenServer): Effect.Effect<ServerLink, ServerFailed, Scope.Scope> =>
    Effect.suspend(() => {
      const key = keyOf(open)
      if (opened.size >= mostKnown) opened.clear()
      opened.set(key, open)
      // A start that has failed is no link that others could use.
      return Effect.tapError(RcMap.get(links, key), () => RcMap.invalidate(links, key))
    })
})
