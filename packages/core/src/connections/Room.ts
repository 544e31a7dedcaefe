import { oneByOne, onTopOf } from "@reins/base/base/Layered"
import { AccessTokens } from "./AccessTokens.js"
import { ConnectionStore } from "./ConnectionStore.js"
import { Connections } from "./Connections.js"
import { ConnectionUses } from "./ConnectionUses.js"
import * as operations from "./Operations.js"
import * as SealedCredentials from "./SealedCredentials.js"
import { TokenMint } from "./TokenMint.js"
import { validationJob } from "./ValidationJob.js"
import { ValidationStore } from "./ValidationStore.js"
import { Validations } from "./Validations.js"

/** Credentials and their validation. */
export const connections = {
  name: "connections",
  layer: Validations.layer.pipe(
    onTopOf(oneByOne(Connections.layer, AccessTokens.layer)),
    onTopOf(oneByOne(ConnectionStore.layer, ConnectionUses.layer, TokenMint.layer)),
    onTopOf(ValidationStore.layer)
  ),
  tables: ["connections", "credentials", "connection_validations"],
  sealed: SealedCredentials.credentialRecords,
  jobs: [validationJob],
  operations
} as const
