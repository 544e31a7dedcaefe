import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { ProjectVersionId } from "@reins/base/domain/Ids"
import { blankSecrets } from "@reins/core/mcp/BlankSecrets"
import type { OpenServer } from "@reins/core/mcp/OpenServer"
import { serverBounds } from "@reins/core/mcp/ServerBounds"
import { ServerLinks } from "@reins/core/mcp/ServerLinks"
import type { Executor } from "@reins/machine/executor/Executor"
import { Executors } from "@reins/machine/executor/Executors"
import { SidePrograms } from "@reins/machine/executor/SidePrograms"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { WayOut } from "@reins/machine/outbound/WayOut"
import { Effect, Layer, Redacted } from "effect"

/** A key that servers are given, and that no word of theirs may hold. */
export const key = "canary-Zq8rT2vX5nB7/mK1p+"

export const outbound = Outbound.layerWith({ allowPrivateHosts: ["127.0.0.1"] })

const bounds = { ...serverBounds, connectMs: 3000, callMs: 1500 }

/** Links to servers, whose programs run in the executors. */
export const linksWith = (guard = outbound, executors: ReadonlyArray<Executor> = [], dataDir = "/nowhere") => {
  const programs = SidePrograms.layer.pipe(
    Layer.provide(
      Layer.mergeAll(
        Executors.layerOf(executors),
        CoreConfig.layer({ dataDir }),
        Boot.layerSingle,
        WayOut.layerWith({ allowPrivateHosts: [] })
      )
    )
  )
  return Layer.provide(ServerLinks.layerWith(bounds), Layer.merge(guard, programs))
}

export const links = (guard = outbound) => Effect.provide(ServerLinks, linksWith(guard))

export const openOf = (url: string): OpenServer => ({
  versionId: ProjectVersionId.make("pver_01k0000000000000000000000a"),
  environment: {},
  tokens: undefined,
  server: { name: "lab", url, allow: ["get_issue"] },
  headers: { Authorization: Redacted.make(`Bearer ${key}`) },
  blank: blankSecrets([Redacted.make(key)])
})

/** Lists the tools of a server, calls one, and gives what a model would be told. */
export const callOf = (url: string, guard = outbound) =>
  Effect.scoped(
    Effect.gen(function* () {
      const link = yield* (yield* links(guard)).connect(openOf(url))
      const [tool] = (yield* link.list).tools
      if (tool === undefined) return yield* Effect.dieMessage("there is no tool")
      return { answer: yield* link.call(tool, { number: 7 }), link, tool }
    })
  )
