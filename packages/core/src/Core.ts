import { join } from "node:path"
import { Effect, Layer } from "effect"
import { CoreConfig } from "./CoreConfig.js"
import { Limits } from "./catalog/Limits.js"
import { Manifests } from "./catalog/Manifests.js"
import { Providers } from "./catalog/Providers.js"
import { captureJob } from "./changes/CaptureJob.js"
import { Changesets } from "./changes/Changesets.js"
import { Deliveries } from "./changes/Deliveries.js"
import { deliveryJob } from "./changes/DeliveryJob.js"
import { Connections } from "./connections/Connections.js"
import { CredentialProxy } from "./connections/CredentialProxy.js"
import { KeyRing } from "./connections/KeyRing.js"
import { Outbound } from "./connections/Outbound.js"
import { Vault } from "./connections/Vault.js"
import { EventFeed } from "./events/EventFeed.js"
import { EventLog } from "./events/EventLog.js"
import { Executors } from "./executor/Executors.js"
import { Harness } from "./harness/Harness.js"
import { HarnessInstall } from "./harness/Install.js"
import { Access } from "./identity/Access.js"
import { Accounts } from "./identity/Accounts.js"
import { ApiKeys } from "./identity/ApiKeys.js"
import { LoginSessions } from "./identity/LoginSessions.js"
import { Mailer } from "./identity/Mailer.js"
import * as MailJob from "./identity/MailJob.js"
import { Passwords } from "./identity/Passwords.js"
import { Workspaces as TenantWorkspaces } from "./identity/Workspaces.js"
import { Jobs } from "./jobs/Jobs.js"
import * as Worker from "./jobs/Worker.js"
import { Projects } from "./projects/Projects.js"
import { Messages } from "./sessions/Messages.js"
import { releaseJob } from "./sessions/ReleaseJob.js"
import { SessionStore } from "./sessions/SessionStore.js"
import { Sessions } from "./sessions/Sessions.js"
import { turnJob } from "./sessions/TurnRunner.js"
import { TurnSetup } from "./sessions/TurnSetup.js"
import { Turns } from "./sessions/Turns.js"
import { Workspaces } from "./sessions/Workspaces.js"
import { Idempotency } from "./store/Idempotency.js"
import { Journal } from "./store/Journal.js"
import { Git } from "./workspace/Git.js"

const fromConfig = <A, E, R>(make: (config: CoreConfig["Type"]) => Layer.Layer<A, E, R>) =>
  Layer.unwrapEffect(Effect.map(CoreConfig, make))

const outside = Layer.mergeAll(
  fromConfig((config) => KeyRing.layerFile(config.keyFile)),
  fromConfig((config) =>
    config.smtpUrl === null
      ? Mailer.layerOutbox(join(config.dataDir, "outbox"))
      : Mailer.layerSmtp(config.smtpUrl, config.mailFrom)
  ),
  fromConfig((config) => HarnessInstall.layer(config.cacheDir)).pipe(Layer.provideMerge(Manifests.layer)),
  fromConfig((config) => Git.layerWith({ allowFile: config.allowLocalRepositories })),
  Harness.layer,
  Executors.layer,
  Limits.layer,
  Outbound.layer,
  Passwords.layer
)

const store = Layer.mergeAll(Journal.layer, Access.layer, Vault.layer)

const identity = Layer.mergeAll(Accounts.layer, LoginSessions.layer, ApiKeys.layer, TenantWorkspaces.layer)

const sessions = Sessions.layer.pipe(
  Layer.provideMerge(Messages.layer),
  Layer.provideMerge(Turns.layer),
  Layer.provideMerge(Providers.layer)
)

const work = Deliveries.layer.pipe(
  Layer.provideMerge(Changesets.layer),
  Layer.provideMerge(TurnSetup.layer),
  Layer.provideMerge(Workspaces.layer),
  Layer.provideMerge(sessions),
  Layer.provideMerge(SessionStore.layer),
  Layer.provideMerge(Layer.mergeAll(Connections.layer, CredentialProxy.layer, Projects.layer))
)

/**
 * Every service of Reins. It needs a `Database` with its `Bell`, a `Placement` and a `CoreConfig`, and nothing else; it opens no
 * port and starts no work of its own.
 */
export const layer = Layer.mergeAll(work, EventFeed.layer, identity).pipe(
  Layer.provideMerge(EventLog.layer),
  Layer.provideMerge(Layer.mergeAll(Idempotency.layer, Jobs.layer)),
  Layer.provideMerge(store),
  Layer.provideMerge(outside)
)

/** Runs the durable jobs of the installation in this process. One process for a data directory does. */
export const worker = Worker.layer(
  Effect.gen(function* () {
    const config = yield* CoreConfig
    return [
      yield* turnJob,
      yield* releaseJob,
      yield* captureJob,
      yield* deliveryJob,
      yield* MailJob.make({ publicUrl: config.publicUrl })
    ]
  })
)
