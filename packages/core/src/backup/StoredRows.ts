import { existsSync } from "node:fs"
import type { CoreConfig } from "@reins/base/base/CoreConfig"
import { KeyRing } from "@reins/base/secrets/KeyRing"
import { newRing } from "@reins/base/secrets/KeyRingFile"
import { Vault } from "@reins/base/secrets/Vault"
import { Forges } from "@reins/machine/forge/Forges"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Layer } from "effect"
import { Access } from "../access/Access.js"
import { RepositoryConnections } from "../catalog/RepositoryConnections.js"
import { ConnectionKinds } from "../connections/ConnectionKinds.js"
import { ConnectionStore } from "../connections/ConnectionStore.js"
import { TokenMint } from "../connections/TokenMint.js"
import { ValidationStore } from "../connections/ValidationStore.js"
import { JobStore } from "../jobs/JobStore.js"
import { oneMachine } from "../placement/Placements.js"
import { ProjectStore } from "../projects/ProjectStore.js"
import { Projects } from "../projects/Projects.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { Journal } from "../store/Journal.js"

/** The services that read the rows of sessions, and open the credentials of their repositories. A backup writes none of the rows. */
export const storedRows = ({ keyFile }: Pick<CoreConfig["Type"], "keyFile">) => {
  // Without the keys a repository that asks for a credential cannot be fetched, and all others can.
  const keys = existsSync(keyFile) ? KeyRing.layerFile(keyFile) : KeyRing.layerOf(newRing())
  return Layer.mergeAll(Projects.layer, TokenMint.layer, RepositoryConnections.layer).pipe(
    Layer.provideMerge(Layer.provideMerge(ConnectionStore.layer, ConnectionKinds.layer)),
    Layer.provideMerge(Layer.mergeAll(SessionStore.layer, ProjectStore.layer, ValidationStore.layer, JobStore.layer)),
    Layer.provideMerge(Layer.mergeAll(Journal.layer, Access.layer, Layer.provide(Vault.layer, keys), Manifests.layer)),
    Layer.provideMerge(Layer.mergeAll(Forges.layer, oneMachine))
  )
}
