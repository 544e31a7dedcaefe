import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { EnabledProviders } from "./EnabledProviders.js"
import { HarnessInstallations } from "./HarnessInstallations.js"
import { installJob } from "./InstallJob.js"
import { LimitsInForce } from "./Limits.js"
import { Models } from "./Models.js"
import * as operations from "./Operations.js"
import { Providers } from "./Providers.js"
import { RepositoryConnections } from "./RepositoryConnections.js"

/** Providers, models, executors and limits, as clients may choose them. */
export const catalog = {
  name: "catalog",
  layer: oneByOne(HarnessInstallations.layer, LimitsInForce.layer, Models.layer, RepositoryConnections.layer).pipe(
    onTopOf(Providers.layer),
    onTopOf(EnabledProviders.layer)
  ),
  operations,
  jobs: [installJob]
} as const
