import { Api } from "@reins/core/Api"
import { Boot } from "@reins/core/base/Boot"
import { CoreConfig } from "@reins/core/base/CoreConfig"
import { Installed } from "@reins/core/catalog/Installed"
import { ConnectionKinds } from "@reins/core/connections/ConnectionKinds"
import { webhookTypes } from "@reins/core/Events"
import { Executors } from "@reins/core/executor/Executors"
import { Forges } from "@reins/core/forge/Forges"
import { Manifests } from "@reins/core/harness/Manifests"
import { Outbound } from "@reins/core/outbound/Outbound"
import { documentOf } from "@reins/server/http/openapi/OpenApiDocument"
import { Effect, Layer } from "effect"

const layer = Installed.layerOf(webhookTypes).pipe(
  Layer.provide(ConnectionKinds.layer),
  Layer.provide([Executors.layer, Forges.layer, Manifests.layer]),
  Layer.provide([
    Outbound.layerWith({ allowPrivateHosts: [] }),
    Boot.layerSingle,
    // The names are the same everywhere, so no executor is tried.
    CoreConfig.layer({ dataDir: "/nonexistent", executors: [] })
  ])
)

/** The document of a service with all that is part of Reins, and nothing else. */
export const builtInDocument = documentOf(Api, await Effect.runPromise(Effect.provide(Installed, layer)))
