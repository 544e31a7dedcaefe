import { CoreConfig } from "@reins/base/base/CoreConfig"
import { once } from "@reins/base/base/Once"
import type { SidePrograms } from "@reins/machine/executor/SidePrograms"
import type { Outbound } from "@reins/machine/outbound/Outbound"
import { Context, Effect, Layer, type Scope } from "effect"
import type { OpenServer } from "./OpenServer.js"
import { type ServerBounds, serverBounds } from "./ServerBounds.js"
import type { ServerLink } from "./ServerClient.js"
import type { ServerFailed } from "./ServerFailed.js"

/** Connects to servers that projects name. */
export class ServerLinks extends Context.Tag("@reins/core/mcp/ServerLinks")<
  ServerLinks,
  {
    /** Connects to a server until the scope closes. Its words come without its secrets. */
    readonly connect: (opened: OpenServer) => Effect.Effect<ServerLink, ServerFailed, Scope.Scope>
  }
>() {
  static readonly layerWith = (bounds: ServerBounds) =>
    Layer.scoped(
      ServerLinks,
      Effect.gen(function* () {
        const context = yield* Effect.context<Outbound | SidePrograms | Scope.Scope>()
        // Loaded with the first server. Whoever asks first may run where interruption is off.
        const connecting = yield* once(
          Effect.promise(() => import("./ServerConnecting.js")).pipe(
            Effect.flatMap(({ serverConnecting }) => serverConnecting(bounds)),
            Effect.provide(context),
            Effect.interruptible
          )
        )
        return ServerLinks.of({ connect: (opened) => Effect.flatMap(connecting, (connect) => connect(opened)) })
      })
    )

  static readonly layer = Layer.unwrapEffect(
    Effect.map(CoreConfig, ({ limits }) =>
      ServerLinks.layerWith({ ...serverBounds, maxBytes: limits.serverAnswerBytes })
    )
  )
}
