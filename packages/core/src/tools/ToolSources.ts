import type { TurnId } from "@reins/base/domain/Ids"
import { Manifests } from "@reins/machine/harness/Manifests"
import type { OfferedTool, ToolOffer } from "@reins/machine/relay/mcp/ToolOffer"
import { Context, Effect, Layer } from "effect"
import { Projects } from "../projects/Projects.js"
import { OfferedTools } from "../sessions/functions/OfferedTools.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { modelSchema } from "./ModelSchema.js"
import type { HostedTool } from "./Tool.js"

/** The name of the server that has the tools of the service. No other server may have it. */
export const ownServer = "reins"

/** The key of a tool in a list of tools of several servers. */
export const toolKey = (server: string, tool: string): string => `${server} ${tool}`

/** Waits on for the answer of a call that was not there in time. */
export const awaitCall: OfferedTool = {
  name: "await_call",
  description:
    "Waits on for a call of a tool that answered with the state pending, and gives its answer. Call it again while the state is pending.",
  input_schema: {
    type: "object",
    properties: { call_id: { type: "string", description: "The call_id of the pending answer." } },
    required: ["call_id"],
    additionalProperties: false
  },
  is_read_only: true
}

/** Somebody who has tools for agents. */
export interface ToolSource {
  /**
   * The tools for the agent of a session. The list is that of an agent's start, so it holds no more than the session tells. `isOffer` is true where an
   * agent is going to be told of them, and false where one of them is called.
   */
  readonly toolsOf: (session: SessionRow, isOffer: boolean) => Effect.Effect<ReadonlyArray<HostedTool>>
  /** The turn for which a session works that nobody wrote to by himself; undefined where the source knows of none. */
  readonly delegatingTurnOf?: (session: SessionRow) => Effect.Effect<TurnId | undefined>
}

/** The rooms that have tools for agents. They register here, so that whoever runs agents need not know them. */
export class ToolSources extends Context.Tag("@reins/core/tools/ToolSources")<
  ToolSources,
  {
    /** Adds a source for as long as the service lives. */
    readonly register: (source: ToolSource) => Effect.Effect<void>
    /** The tools for the agent of a session, by `toolKey`. None for an agent that is not known to call them. */
    readonly toolsOf: (session: SessionRow) => Effect.Effect<ReadonlyMap<string, HostedTool>>
    /** The offer to the agent of a session; undefined where nothing is offered. */
    readonly offerOf: (session: SessionRow) => Effect.Effect<ToolOffer | undefined>
    /** As `ToolSource.delegatingTurnOf`. */
    readonly delegatingTurnOf: (session: SessionRow) => Effect.Effect<TurnId | undefined>
  }
>() {
  static readonly layer = Layer.effect(
    ToolSources,
    Effect.gen(function* () {
      const manifests = yield* Manifests
      const projects = yield* Projects
      const offered = yield* OfferedTools
      const sources: Array<ToolSource> = []
      const mannersOf = ({ provider_id }: SessionRow) =>
        Effect.map(Effect.orDie(manifests.get(provider_id)), ({ capabilities, tools }) =>
          capabilities.tool_calls === "supported" ? tools : undefined
        )

      const toolsOf = Effect.fnUntraced(function* (session: SessionRow, isOffer: boolean) {
        const found = new Map<string, HostedTool>()
        if ((yield* mannersOf(session)) === undefined) return found
        const chosen = yield* offered.find(session.id, null)
        const own = chosen.own ?? (yield* projects.specOf(session)).tools?.own
        const isOffered = ({ isAlwaysOffered, offered: { name }, server }: HostedTool) =>
          own === undefined || server !== undefined || isAlwaysOffered === true || own.some((each) => each === name)
        for (const source of sources)
          for (const tool of yield* source.toolsOf(session, isOffer))
            if (isOffered(tool)) found.set(toolKey(tool.server ?? ownServer, tool.offered.name), tool)
        return found
      })

      return ToolSources.of({
        register: (source) => Effect.sync(() => void sources.push(source)),
        toolsOf: (session) => toolsOf(session, false),
        offerOf: Effect.fnUntraced(function* (session) {
          const tools = [...(yield* toolsOf(session, true)).values()]
          if (tools.length === 0) return undefined
          const ofServer = (wanted: string) =>
            tools.flatMap(({ offered, server = ownServer }) =>
              server === wanted ? [{ ...offered, input_schema: modelSchema(offered.input_schema) }] : []
            )
          const others = new Set(tools.flatMap(({ server }) => server ?? []))
          const needs = (yield* mannersOf(session))?.needs ?? []
          const offer: ToolOffer = {
            servers: [
              { name: ownServer, tools: [...ofServer(ownServer), awaitCall] },
              ...[...others].map((name) => ({ name, tools: ofServer(name) }))
            ],
            is_always_loaded: needs.includes("always_load")
          }
          return offer
        }),
        delegatingTurnOf: Effect.fnUntraced(function* (session) {
          for (const source of sources) {
            const found = yield* source.delegatingTurnOf?.(session) ?? Effect.succeed(undefined)
            if (found !== undefined) return found
          }
          return undefined
        })
      })
    })
  )
}
