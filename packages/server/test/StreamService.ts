import { EventStreams, type StreamOptions } from "@reins/server/EventStreams"
import { Authentication } from "@reins/server/http/middleware/Authentication"
import { RateLimit } from "@reins/server/http/middleware/RateLimit"
import { routesAt } from "@reins/server/http/Routes"
import { Server } from "@reins/server/Server"
import { Shutdown } from "@reins/server/Shutdown"
import { Layer } from "effect"
import { Caller, core } from "./Service.js"

/** The service with these streams. */
export const serviceWith = (options: StreamOptions) => {
  const publicUrl = new URL("http://127.0.0.1")
  return Caller.layer.pipe(
    Layer.provideMerge(
      Server.layer(routesAt(publicUrl), {
        host: "127.0.0.1",
        port: 0,
        publicUrl,
        trustedProxies: [],
        grace: "5 seconds",
        notice: 0
      })
    ),
    Layer.provide(EventStreams.layer(options)),
    Layer.provide(Authentication.layer(publicUrl)),
    Layer.provide(Layer.merge(RateLimit.layerOff, Shutdown.layer)),
    Layer.provideMerge(core())
  )
}
