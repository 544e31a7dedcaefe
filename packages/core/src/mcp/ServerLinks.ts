import { Context, Effect, Layer, Redacted, type Scope } from "effect"
import { CoreConfig } from "../base/CoreConfig.js"
import { Outbound } from "../outbound/Outbound.js"
import { blankBoth } from "./BlankSecrets.js"
import { guardedFetch } from "./GuardedFetch.js"
import type { OpenServer } from "./OpenServer.js"
import {
  connectServer,
  mcpLibrary,
  type ServerFailed,
  type ServerLink,
  StreamEnds,
  serverBounds
} from "./ServerClient.js"
import { type ServerKeys, serverKeys } from "./ServerKeys.js"
import { serverPrograms } from "./ServerPrograms.js"

/** Connects to servers that projects name. */
export class ServerLinks extends Context.Tag("@reins/core/mcp/ServerLinks")<
  ServerLinks,
  {
    /** Connects to a server until the scope closes. Its words come without its secrets. */
    readonly connect: (opened: OpenServer) => Effect.Effect<ServerLink, ServerFailed, Scope.Scope>
  }
>() {
  static readonly layerWith = (bounds: typeof serverBounds) =>
    Layer.scoped(
      ServerLinks,
      Effect.gen(function* () {
        const outbound = yield* Outbound
        const library = yield* mcpLibrary
        const programOf = yield* serverPrograms(mcpLibrary, bounds)

        const overHttp = Effect.fnUntraced(function* (
          url: string,
          { headers }: OpenServer,
          keys: ServerKeys | undefined
        ) {
          const mcp = yield* library
          const values = Object.fromEntries(
            Object.entries(headers).map(([name, value]) => [name, Redacted.value(value)])
          )
          const ends = new StreamEnds()
          const transport = new mcp.StreamableHTTPClientTransport(new URL(url), {
            fetch: guardedFetch(outbound, { maxBytes: bounds.maxBytes, timeoutMs: bounds.callMs, ended: ends.ended }),
            requestInit: { headers: values, redirect: "manual" },
            ...(keys !== undefined && { authProvider: keys.provider }),
            reconnectionOptions: {
              maxRetries: 0,
              initialReconnectionDelay: 0,
              maxReconnectionDelay: 0,
              reconnectionDelayGrowFactor: 1
            }
          })
          return yield* connectServer(mcp, transport, bounds, ends)
        })

        return ServerLinks.of({
          connect: (opened) =>
            Effect.gen(function* () {
              const { server, tokens } = opened
              const keys = tokens === undefined ? undefined : yield* serverKeys(yield* tokens)
              // The tokens of a connection change while the link is open.
              const blank = () => (keys === undefined ? opened.blank : blankBoth(opened.blank, keys.blank()))
              const connecting = server.url === undefined ? programOf(opened) : overHttp(server.url, opened, keys)
              const link = yield* Effect.mapError(connecting, (failure) => blank().failure(failure))
              const said: ServerLink = {
                protocol: link.protocol,
                list: Effect.mapBoth(link.list, {
                  onFailure: (failure) => blank().failure(failure),
                  onSuccess: (tools) => tools.map(blank().tool)
                }),
                call: (tool, input) =>
                  Effect.mapBoth(link.call(tool, input), {
                    onFailure: (failure) => blank().failure(failure),
                    onSuccess: (answer) => blank().answer(answer)
                  })
              }
              return said
            })
        })
      })
    )

  static readonly layer = Layer.unwrapEffect(
    Effect.map(CoreConfig, ({ limits }) =>
      ServerLinks.layerWith({ ...serverBounds, maxBytes: limits.serverAnswerBytes })
    )
  )
}
