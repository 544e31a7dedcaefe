import { limited } from "@reins/base/base/Limited"
import { fn } from "@reins/base/base/Traced"
import { Clock, Context, Duration, Effect, Layer, Option } from "effect"
import type { ProjectServer } from "../projects/ProjectServer.js"
import { toolPins } from "../projects/ToolPins.js"
import { Journal } from "../store/Journal.js"
import type { ToolList } from "./ForeignTools.js"
import { type JudgedTool, judgeTools } from "./JudgedTools.js"
import { makeOpenServer, type NamingVersion, type OpenServer } from "./OpenServer.js"
import type { ServerFailed } from "./ServerFailed.js"
import { ServerLinks } from "./ServerLinks.js"

/** A look counts for so long. A failed one counts for less, because somebody may mend it. */
const goodMs = 60_000
const badMs = 5_000

/** A server that has just gone, or has not come up yet, is asked again after this time, in milliseconds, and so often. */
const awayMs = 500
const mostAway = 8

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
  /**
   * Where it was not reached: `authorization` for a key or a connection that has to be mended, `answer` for an answer that cannot be used, `away`
   * where nobody answers.
   */
  readonly fault: "authorization" | "answer" | "away" | "none"
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
    /**
     * As `recent`, within five seconds, and of now for an offer to an agent. Where the server is not reached its pinned tools stand for it, and a
     * call tells.
     */
    readonly soon: (version: NamingVersion, server: ProjectServer, isOffer: boolean) => Effect.Effect<Look>
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

      const judged = Effect.fnUntraced(function* ({ versionId }: NamingVersion, server: ProjectServer, list: ToolList) {
        const pinned = yield* pins.find(versionId, server.name)
        const isNew = ({ name, standing }: JudgedTool) => standing === "offered" && !pinned.has(name)
        const added = judgeTools(server, pinned, list)
          .filter(isNew)
          .flatMap(({ tool }) => tool ?? [])
        if (added.length === 0) return judgeTools(server, pinned, list)
        yield* journal.commit(pins.add(versionId, server.name, added))
        // Another process may have pinned something else first.
        return judgeTools(server, yield* pins.find(versionId, server.name), list)
      })

      const unreached = (problem: string, fault: Look["fault"] = "none"): Look => ({
        protocol: null,
        problem,
        fault,
        tools: [],
        listed: 0
      })

      const fresh = fn("ServerLooks.fresh")(function* (version: NamingVersion, server: ProjectServer) {
        const found = yield* Effect.either(listOf(version, server))
        const look: Look =
          found._tag === "Left"
            ? unreached(found.left.message, faultOf(found.left))
            : {
                protocol: found.right.protocol,
                problem: null,
                fault: "none",
                tools: yield* judged(version, server, found.right.listed),
                listed: found.right.listed.listed
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

      /** A look of now. A server that was there before, or was never looked at, gets a moment to come up. */
      const current = Effect.fnUntraced(function* (version: NamingVersion, server: ProjectServer) {
        const wasAway = looks.get(keyOf(version, server))?.look.fault === "away"
        let look = yield* fresh(version, server)
        for (let count = 0; count < mostAway && look.fault === "away" && !wasAway; count++) {
          yield* Effect.sleep(awayMs)
          look = yield* fresh(version, server)
        }
        return look
      })

      const asPinned = Effect.fnUntraced(function* ({ versionId }: NamingVersion, server: ProjectServer, look: Look) {
        const pinned = yield* pins.find(versionId, server.name)
        return { ...look, tools: judgeTools(server, pinned, { tools: [...pinned.values()], odd: [] }) }
      })

      return ServerLooks.of({
        recent,
        fresh,
        soon: Effect.fnUntraced(function* (version, server, isOffer) {
          const asked = isOffer ? current(version, server) : recent(version, server)
          const found = yield* limited(asked, Effect.timeoutOption(patience))
          const look = Option.getOrElse(found, () => unreached("The server did not answer within 5 seconds."))
          return look.problem === null ? look : yield* asPinned(version, server, look)
        }),
        open: openServer
      })
    })
  )
}

const faultOf = ({ hasAnswered, isAway, needsAuthorization }: ServerFailed): Look["fault"] => {
  if (needsAuthorization === true) return "authorization"
  if (hasAnswered === true) return "answer"
  return isAway === true ? "away" : "none"
}

/** Each person may find another server behind its login. */
const keyOf = ({ accountId, versionId }: NamingVersion, { login, name }: ProjectServer): string =>
  `${versionId} ${name} ${login === "person" ? (accountId ?? "") : ""}`
