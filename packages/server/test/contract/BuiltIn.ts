import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { Api } from "@reins/core/Api"
import { Installed } from "@reins/core/catalog/Installed"
import { ConnectionKinds } from "@reins/core/connections/ConnectionKinds"
import { webhookTypes } from "@reins/core/Events"
import { Executors } from "@reins/machine/executor/Executors"
import { Forges } from "@reins/machine/forge/Forges"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Outbound } from "@reins/machine/outbound/Outbound"
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
