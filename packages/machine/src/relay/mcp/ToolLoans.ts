import { CoreConfig } from "@reins/base/base/CoreConfig"
import { once } from "@reins/base/base/Once"
import { fn } from "@reins/base/base/Traced"
import { Context, Effect, Layer, Runtime, type Scope } from "effect"
import type { ToolServer } from "../../harness/TurnInput.js"
import { Loans } from "../Loans.js"
import type { CallTool, ToolOffer } from "./ToolOffer.js"

/** Tools as an agent gets them. */
export interface LentTools {
  /** The servers that the agent is told of, with its token. */
  readonly servers: ReadonlyArray<ToolServer>
  /** True once the agent has asked for its tools. Without that its model cannot know them. */
  readonly wereListed: Effect.Effect<boolean>
  /** Answers the calls of a turn until the scope closes, which also breaks off those that are under way. */
  readonly open: (call: CallTool) => Effect.Effect<void, never, Scope.Scope>
}

/**
 * Lends tools to agents: a server of the Model Context Protocol on loopback for each agent. It lists its tools for as long as the agent lives, and
 * runs them while a turn does.
 */
export class ToolLoans extends Context.Tag("@reins/core/relay/mcp/ToolLoans")<
  ToolLoans,
  {
    /** Lends the tools of an offer until the scope closes. */
    readonly lend: (offer: ToolOffer) => Effect.Effect<LentTools, never, Scope.Scope>
  }
>() {
  /** `bodyMs` is the time of a request of an agent to come as a whole. */
  static readonly layerWith = ({ bodyMs }: { readonly bodyMs: number }) =>
    Layer.effect(
      ToolLoans,
      Effect.gen(function* () {
        const { toolInputCharacters } = (yield* CoreConfig).limits
        const loans = yield* Loans
        const runPromise = Runtime.runPromise(yield* Effect.runtime<never>())
        // Loaded with the first offer: it takes up to a third of a second, and many programs offer no tools.
        const library = yield* once(Effect.promise(() => import("@modelcontextprotocol/server")))
        return ToolLoans.of({
          lend: fn("ToolLoans.lend")(function* (offer) {
            const loading = runPromise(library)
            // A request that needs it fails then.
            loading.catch(() => undefined)
            const { McpEndpoint } = yield* Effect.promise(() => import("./McpEndpoint.js"))
            const endpoint = new McpEndpoint(offer, loading, runPromise, { maxInput: toolInputCharacters, bodyMs })
            const loan = yield* loans.lend(endpoint)
            return {
              servers: offer.servers.map(({ name }) => ({
                name,
                url: `http://127.0.0.1:${loan.port}${loan.path}/${name}`,
                token: loan.token
              })),
              wereListed: Effect.sync(() => endpoint.wasListed),
              open: (call) =>
                Effect.zipRight(
                  Effect.acquireRelease(
                    Effect.sync(() => endpoint.begin(call)),
                    () => Effect.sync(() => endpoint.begin(undefined))
                  ),
                  loan.open
                )
            }
          })
        })
      })
    )

  static readonly layer = ToolLoans.layerWith({ bodyMs: 30_000 })
}
