import { Clock, Context, Duration, Effect, Layer, Option } from "effect"
import { fn } from "../base/Traced.js"
import type { ProjectServer } from "../projects/ProjectServer.js"
import { toolPins } from "../projects/ToolPins.js"
import { Journal } from "../store/Journal.js"
import { type JudgedTool, judgeTools } from "./JudgedTools.js"
import { makeOpenServer, type NamingVersion, type OpenServer } from "./OpenServer.js"
import type { ListedTool, ServerFailed } from "./ServerClient.js"
import { ServerLinks } from "./ServerLinks.js"

/** A look counts for so long. A failed one counts for less, because somebody may mend it. */
const goodMs = 60_000
const badMs = 5_000

/** A turn waits for a server that has to be looked at no longer than this. */
const patience = Duration.seconds(5)

/** The most looks that are remembered. */
const maxLooks = 1000

/** A server as it was found. */
export interface Look {
  /** The version of the protocol; null where the server was not reached. */
  readonly protocol: string | null
  /** A sentence that says why it was not reached; null where it was. */
  readonly problem: string | null
  /** True where it was not reached because its connection has to be mended. */
  readonly needsAuthorization: boolean
  readonly tools: ReadonlyArray<JudgedTool>
  /** The number of tools that the server lists. */
  readonly listed: number
}

/** Looks at the servers of projects: which of the allowed tools they have, and whether those are as they were pinned. */
export class ServerLooks extends Context.Tag("@reins/core/mcp/ServerLooks")<
  ServerLooks,
  {
    /** A look that is at most a minute old. It pins the tools of a version that are seen for the first time. */
    readonly recent: (version: NamingVersion, server: ProjectServer) => Effect.Effect<Look>
    /** The same, now. */
    readonly fresh: (version: NamingVersion, server: ProjectServer) => Effect.Effect<Look>
    /** As `recent`, within five seconds. Where the server is not reached its pinned tools stand for it, and a call tells. */
    readonly soon: (version: NamingVersion, server: ProjectServer) => Effect.Effect<Look>
    /** Opens the secrets of a server. */
    readonly open: (version: NamingVersion, server: ProjectServer) => Effect.Effect<OpenServer, ServerFailed>
  }
>() {
  static readonly layer = Layer.effect(
    ServerLooks,
    Effect.gen(function* () {
      const journal = yield* Journal
      const links = yield* ServerLinks
      const pins = yield* toolPins
      const openServer = yield* makeOpenServer
      const looks = new Map<string, { readonly atMs: number; readonly look: Look }>()

      const listOf = (version: NamingVersion, server: ProjectServer) =>
        Effect.scoped(
          Effect.gen(function* () {
            const link = yield* links.connect(yield* openServer(version, server))
            return { protocol: link.protocol, listed: yield* link.list }
          })
        )

      const judged = Effect.fnUntraced(function* (
        { versionId }: NamingVersion,
        server: ProjectServer,
        listed: ReadonlyArray<ListedTool>
      ) {
        const pinned = yield* pins.find(versionId, server.name)
        const isNew = ({ name, standing }: JudgedTool) => standing === "offered" && !pinned.has(name)
        const added = judgeTools(server, pinned, listed)
          .filter(isNew)
          .flatMap(({ tool }) => tool ?? [])
        if (added.length === 0) return judgeTools(server, pinned, listed)
        yield* journal.commit(pins.add(versionId, server.name, added))
        // Another process may have pinned something else first.
        return judgeTools(server, yield* pins.find(versionId, server.name), listed)
      })

      const unreached = (problem: string, needsAuthorization = false): Look => ({
        protocol: null,
        problem,
        needsAuthorization,
        tools: [],
        listed: 0
      })

      const fresh = fn("ServerLooks.fresh")(function* (version: NamingVersion, server: ProjectServer) {
        const found = yield* Effect.either(listOf(version, server))
        const look: Look =
          found._tag === "Left"
            ? unreached(found.left.message, found.left.needsAuthorization === true)
            : {
                protocol: found.right.protocol,
                problem: null,
                needsAuthorization: false,
                tools: yield* judged(version, server, found.right.listed),
                listed: found.right.listed.length
              }
        if (looks.size >= maxLooks) looks.clear()
        looks.set(keyOf(version, server), { atMs: yield* Clock.currentTimeMillis, look })
        return look
      })

      const recent = Effect.fnUntraced(function* (version: NamingVersion, server: ProjectServer) {
        const known = looks.get(keyOf(version, server))
        const ageMs = (yield* Clock.currentTimeMillis) - (known?.atMs ?? 0)
        if (known !== undefined && ageMs < (known.look.problem === null ? goodMs : badMs)) return known.look
        return yield* fresh(version, server)
      })

      const asPinned = Effect.fnUntraced(function* ({ versionId }: NamingVersion, server: ProjectServer, look: Look) {
        const pinned = yield* pins.find(versionId, server.name)
        return { ...look, tools: judgeTools(server, pinned, [...pinned.values()]) }
      })

      return ServerLooks.of({
        recent,
        fresh,
        soon: Effect.fnUntraced(function* (version, server) {
          const found = yield* Effect.timeoutOption(recent(version, server), patience)
          const look = Option.getOrElse(found, () => unreached("The server did not answer within 5 seconds."))
          return look.problem === null ? look : yield* asPinned(version, server, look)
        }),
        open: openServer
      })
    })
  )
}

const keyOf = ({ versionId }: NamingVersion, { name }: ProjectServer): string => `${versionId} ${name}`
