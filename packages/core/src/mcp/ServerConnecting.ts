import { limited } from "@reins/base/base/Limited"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Effect, Redacted, Ref, type Scope } from "effect"
import { blankBoth } from "./BlankSecrets.js"
import { guardedFetch } from "./GuardedFetch.js"
import type { OpenServer } from "./OpenServer.js"
import type { ServerBounds } from "./ServerBounds.js"
import { connectServer, mcpLibrary, type ServerLink, Wire } from "./ServerClient.js"
import type { ServerFailed } from "./ServerFailed.js"
import { type ServerKeys, serverKeys } from "./ServerKeys.js"
import { serverPrograms } from "./ServerPrograms.js"

/** A server that takes no request now is asked again, so often at most, where it wants no longer pause than this. */
const mostAgain = 2
const longestPauseMs = 10_000

/**
 * Asks a server where interruption works, whoever asks: each limit of a server ends what it limits by an interruption. Checks run where interruption
 * is off, and what they started, a program with its readers, would keep that for ever.
 */
const asked = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => limited(work, (ending) => ending)

/** Asks again after the pause that a server wants that took nothing. */
const patiently = <A, R>(
  work: Effect.Effect<A, ServerFailed, R>,
  left = mostAgain
): Effect.Effect<A, ServerFailed, R> =>
  Effect.catchAll(work, (failure) => {
    const { againMs } = failure
    if (left === 0 || againMs === undefined || againMs > longestPauseMs) return Effect.fail(failure)
    return Effect.zipRight(Effect.sleep(againMs), patiently(work, left - 1))
  })

/** True for a server that has answered in a way in which one of 2025 may answer a question of 2026. */
const mayBeOld = ({ againMs, hasAnswered, isSessionGone, needsAuthorization }: ServerFailed): boolean =>
  hasAnswered === true && isSessionGone !== true && needsAuthorization !== true && againMs === undefined

/** A link that takes a new session once where its server knows the old one no more. Nothing of what was asked is done then. */
const renewing = <R>(open: Effect.Effect<ServerLink, ServerFailed, R>): Effect.Effect<ServerLink, ServerFailed, R> =>
  Effect.gen(function* () {
    const context = yield* Effect.context<R>()
    const first = yield* patiently(open)
    const current = yield* Ref.make(first)
    const renewed = Effect.tap(Effect.provide(patiently(open), context), (link) => Ref.set(current, link))
    const ask = <A>(of: (link: ServerLink) => Effect.Effect<A, ServerFailed>) =>
      Effect.flatMap(Ref.get(current), (link) =>
        Effect.catchAll(patiently(of(link)), (failure) =>
          failure.isSessionGone === true ? Effect.flatMap(renewed, of) : Effect.fail(failure)
        )
      )
    return {
      protocol: first.protocol,
      list: ask((link) => link.list),
      call: (tool, input) => ask((link) => link.call(tool, input))
    }
  })

/** Gives the function that connects to servers. Their programs run in the scope. */
export const serverConnecting = Effect.fnUntraced(function* (bounds: ServerBounds) {
  const outbound = yield* Outbound
  const library = yield* mcpLibrary
  const programOf = yield* serverPrograms(mcpLibrary, bounds)

  const overHttp = Effect.fnUntraced(function* (url: string, { headers }: OpenServer, keys: ServerKeys | undefined) {
    const mcp = yield* library
    const values = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)]))
    const open = (isOld: boolean) =>
      Effect.suspend(() => {
        const wire = new Wire()
        const { ended, refused } = wire
        const transport = new mcp.StreamableHTTPClientTransport(new URL(url), {
          fetch: guardedFetch(outbound, { maxBytes: bounds.maxBytes, timeoutMs: bounds.callMs, ended, refused }),
          requestInit: { headers: values, redirect: "manual" },
          ...(keys !== undefined && { authProvider: keys.provider }),
          reconnectionOptions: {
            maxRetries: 0,
            initialReconnectionDelay: 0,
            maxReconnectionDelay: 0,
            reconnectionDelayGrowFactor: 1
          }
        })
        return connectServer(mcp, { transport, bounds, wire, isOld })
      })
    return yield* renewing(
      Effect.catchAll(open(false), (failure) => (mayBeOld(failure) ? open(true) : Effect.fail(failure)))
    )
  })

  return (opened: OpenServer): Effect.Effect<ServerLink, ServerFailed, Scope.Scope> =>
    Effect.gen(function* () {
      const { server, tokens } = opened
      const keys = tokens === undefined ? undefined : yield* asked(Effect.flatMap(tokens, serverKeys))
      // The tokens of a connection change while the link is open.
      const blank = () => (keys === undefined ? opened.blank : blankBoth(opened.blank, keys.blank()))
      const connecting = server.url === undefined ? programOf(opened) : overHttp(server.url, opened, keys)
      // A fiber that fails is logged with its words, so those are blanked within it.
      const link = yield* asked(Effect.mapError(connecting, (failure) => blank().failure(failure)))
      const said: ServerLink = {
        protocol: link.protocol,
        list: asked(
          Effect.mapBoth(link.list, {
            onFailure: (failure) => blank().failure(failure),
            onSuccess: (list) => blank().list(list)
          })
        ),
        call: (tool, input) =>
          asked(
            Effect.mapBoth(link.call(tool, input), {
              onFailure: (failure) => blank().failure(failure),
              onSuccess: (answer) => blank().answer(answer)
            })
          )
      }
      return said
    })
})
