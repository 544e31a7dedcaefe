import { join } from "node:path"
import { Effect, Layer } from "effect"
import { Access } from "./access/Access.js"
import { CoreConfig } from "./base/CoreConfig.js"
import { Limits } from "./catalog/Limits.js"
import { Models } from "./catalog/Models.js"
import { Providers } from "./catalog/Providers.js"
import { Applications } from "./changes/Applications.js"
import { applyJob } from "./changes/ApplyJob.js"
import { captureJob } from "./changes/CaptureJob.js"
import { Changesets } from "./changes/Changesets.js"
import { Deliveries } from "./changes/Deliveries.js"
import { deliveryJob } from "./changes/DeliveryJob.js"
import { DeliveryStore } from "./changes/DeliveryStore.js"
import { mergeJob, openMergeRequestJob } from "./changes/MergeRequestJob.js"
import { MergeRequestStore } from "./changes/MergeRequestStore.js"
import { MergeRequests } from "./changes/MergeRequests.js"
import { refreshJob } from "./changes/RefreshJob.js"
import { Connections } from "./connections/Connections.js"
import { CredentialProxy } from "./connections/CredentialProxy.js"
import { validationJob } from "./connections/ValidationJob.js"
import { ValidationStore } from "./connections/ValidationStore.js"
import { Validations } from "./connections/Validations.js"
import { deadlineJob } from "./delegations/DeadlineJob.js"
import { DelegationResults } from "./delegations/DelegationResults.js"
import { DelegationStore } from "./delegations/DelegationStore.js"
import { Delegations } from "./delegations/Delegations.js"
import * as DelegationTurns from "./delegations/DelegationTurns.js"
import { ResultSchemas } from "./delegations/ResultSchemas.js"
import { Waits } from "./delegations/Waits.js"
import { wakeJob } from "./delegations/WakeJob.js"
import { EventFeed } from "./events/EventFeed.js"
import { EventLog } from "./events/EventLog.js"
import { EventRetention } from "./events/EventRetention.js"
import { activationJob } from "./execution/ActivationJob.js"
import { HarnessSwitches } from "./execution/HarnessSwitches.js"
import { NativeStateExport } from "./execution/NativeStateExport.js"
import { releaseJob } from "./execution/ReleaseJob.js"
import { SessionExecutors } from "./execution/SessionExecutors.js"
import { turnJob } from "./execution/TurnRunner.js"
import { TurnSetup } from "./execution/TurnSetup.js"
import { Executors } from "./executor/Executors.js"
import { markVariables } from "./executor/Marks.js"
import { endProcessesOf } from "./executor/Orphans.js"
import { Files } from "./files/Files.js"
import { Forges } from "./forge/Forges.js"
import { Git } from "./git/Git.js"
import { Harness } from "./harness/Harness.js"
import { HarnessInstall } from "./harness/Install.js"
import { Manifests } from "./harness/Manifests.js"
import { Accounts } from "./identity/Accounts.js"
import { ApiKeys } from "./identity/ApiKeys.js"
import { LoginSessions } from "./identity/LoginSessions.js"
import { Mailer } from "./identity/Mailer.js"
import * as MailJob from "./identity/MailJob.js"
import { Members } from "./identity/Members.js"
import { PasswordChanges } from "./identity/PasswordChanges.js"
import { Passwords } from "./identity/Passwords.js"
import { Workspaces } from "./identity/Workspaces.js"
import { JobClaims } from "./jobs/JobClaims.js"
import { JobStore } from "./jobs/JobStore.js"
import { Jobs } from "./jobs/Jobs.js"
import * as Worker from "./jobs/Worker.js"
import { Outbound } from "./outbound/Outbound.js"
import { Placement } from "./placement/Placement.js"
import { Projects } from "./projects/Projects.js"
import { KeyRing } from "./secrets/KeyRing.js"
import { Vault } from "./secrets/Vault.js"
import { Interactions } from "./sessions/Interactions.js"
import { Leases } from "./sessions/Leases.js"
import { Messages } from "./sessions/Messages.js"
import { SessionFiles } from "./sessions/SessionFiles.js"
import { SessionListeners } from "./sessions/SessionListeners.js"
import { SessionStore } from "./sessions/SessionStore.js"
import { Sessions } from "./sessions/Sessions.js"
import { Turns } from "./sessions/Turns.js"
import { Uploads } from "./sessions/Uploads.js"
import { WorkingTrees } from "./sessions/WorkingTrees.js"
import { Idempotency } from "./store/Idempotency.js"
import { Journal } from "./store/Journal.js"
import * as NewestIds from "./store/NewestIds.js"
import { Readiness } from "./store/Readiness.js"
import * as Housekeeping from "./upkeep/Housekeeping.js"
import * as IdleRelease from "./upkeep/IdleRelease.js"
import { KeyRotation, requireKeys } from "./upkeep/KeyRotation.js"

const fromConfig = <A, E, R>(make: (config: CoreConfig["Type"]) => Layer.Layer<A, E, R>) =>
  Layer.unwrapEffect(Effect.map(CoreConfig, make))

const outside = <E>(manifests: Layer.Layer<Manifests, E>) =>
  Layer.mergeAll(
    fromConfig((config) => KeyRing.layerFile(config.keyFile)),
    fromConfig((config) =>
      config.smtpUrl === null
        ? Mailer.layerOutbox(join(config.dataDir, "outbox"))
        : Mailer.layerSmtp(config.smtpUrl, config.mailFrom)
    ),
    fromConfig((config) => HarnessInstall.layer(config.cacheDir)).pipe(Layer.provideMerge(manifests)),
    Layer.unwrapEffect(
      Effect.map(Effect.all([CoreConfig, Placement]), ([config, { bootId }]) =>
        Git.layerWith({
          allowFile: config.allowLocalRepositories,
          maxDiffBytes: config.limits.diffBytes,
          maxDiffFileBytes: config.limits.diffFileBytes,
          maxDiffFiles: config.limits.diffFiles,
          marks: markVariables([{ kind: "boot", id: bootId }])
        })
      )
    ),
    Files.layer,
    Harness.layer,
    Executors.layer,
    Limits.layer,
    Outbound.layer,
    Passwords.layer
  )

const store = Layer.mergeAll(Journal.layer, Access.layer, Readiness.layer, Vault.layer, requireKeys, NewestIds.layer)

const identity = Layer.mergeAll(PasswordChanges.layer, Members.layer).pipe(
  Layer.provideMerge(Layer.mergeAll(Accounts.layer, LoginSessions.layer, ApiKeys.layer, Workspaces.layer))
)

const sessions = Sessions.layer.pipe(
  Layer.provideMerge(Messages.layer),
  Layer.provideMerge(Turns.layer),
  Layer.provideMerge(Layer.mergeAll(SessionListeners.layer, Uploads.layer)),
  Layer.provideMerge(Providers.layer)
)

const delegations = DelegationTurns.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Delegations.layer, DelegationResults.layer, Waits.layer)),
  Layer.provideMerge(Layer.mergeAll(DelegationStore.layer, ResultSchemas.layer))
)

const conversations = Layer.mergeAll(
  SessionFiles.layer,
  SessionExecutors.layer,
  Interactions.layer,
  HarnessSwitches.layer,
  NativeStateExport.layer
)

const changes = Layer.mergeAll(Applications.layer, MergeRequests.layer).pipe(
  Layer.provideMerge(Deliveries.layer),
  Layer.provideMerge(Layer.mergeAll(DeliveryStore.layer, MergeRequestStore.layer, Forges.layer))
)

const connected = Layer.mergeAll(Validations.layer, Layer.provide(Models.layer, Workspaces.layer))

const work = Layer.mergeAll(changes, delegations, conversations, connected).pipe(
  Layer.provideMerge(Changesets.layer),
  Layer.provideMerge(TurnSetup.layer),
  Layer.provideMerge(WorkingTrees.layer),
  Layer.provideMerge(Leases.layer),
  Layer.provideMerge(sessions),
  Layer.provideMerge(SessionStore.layer),
  Layer.provideMerge(Layer.mergeAll(Connections.layer, CredentialProxy.layer, Projects.layer)),
  Layer.provideMerge(ValidationStore.layer)
)

/** `layer` with other providers than those that are part of Reins. */
export const layerWith = <E>(manifests: Layer.Layer<Manifests, E>) =>
  Layer.mergeAll(work, EventFeed.layer, Layer.provideMerge(KeyRotation.layer, identity)).pipe(
    Layer.provideMerge(Layer.mergeAll(EventLog.layer, EventRetention.layer)),
    Layer.provideMerge(Layer.mergeAll(Idempotency.layer, Jobs.layer, JobClaims.layer, JobStore.layer)),
    Layer.provideMerge(store),
    Layer.provideMerge(outside(manifests))
  )

/**
 * Every service of Reins. It needs a `Database` with its `Bell`, a `Placement` and a `CoreConfig`, and nothing else; it opens no
 * port and starts no work of its own. Fails with `KeysMissing` when stored credentials cannot be opened with the key ring.
 */
export const layer = layerWith(Manifests.layer)

/**
 * Runs the durable jobs of the installation in this process, and deletes what is of no use any more. On SQLite one process for a data
 * directory does; on PostgreSQL others may share it, and take over what this one loses.
 */
export const worker = Layer.mergeAll(
  Worker.layer(
    Effect.gen(function* () {
      const config = yield* CoreConfig
      return [
        yield* turnJob,
        yield* validationJob,
        yield* activationJob,
        yield* releaseJob,
        yield* captureJob,
        yield* applyJob,
        yield* deliveryJob,
        yield* refreshJob,
        yield* openMergeRequestJob,
        yield* mergeJob,
        yield* deadlineJob,
        yield* wakeJob,
        yield* MailJob.make({ publicUrl: config.publicUrl })
      ]
    }),
    endProcessesOf
  ),
  IdleRelease.layer,
  Housekeeping.layer
)
