import { join } from "node:path"
import { Effect, Layer } from "effect"
import { Access } from "./access/Access.js"
import { AgentPool } from "./agents/AgentPool.js"
import { CoreConfig } from "./base/CoreConfig.js"
import { oneByOne, onTopOf } from "./base/Layered.js"
import { BudgetStore } from "./budgets/BudgetStore.js"
import { HarnessInstallations } from "./catalog/HarnessInstallations.js"
import { Installed } from "./catalog/Installed.js"
import { LimitsInForce } from "./catalog/Limits.js"
import { Models } from "./catalog/Models.js"
import { Providers } from "./catalog/Providers.js"
import { ApplicationStore } from "./changes/ApplicationStore.js"
import { Applications } from "./changes/Applications.js"
import { ChangesetStore } from "./changes/ChangesetStore.js"
import { Changesets } from "./changes/Changesets.js"
import { Deliveries } from "./changes/Deliveries.js"
import { DeliveryStore } from "./changes/DeliveryStore.js"
import { MergeRequestStore } from "./changes/MergeRequestStore.js"
import { MergeRequests } from "./changes/MergeRequests.js"
import type { ConnectionKind } from "./connections/ConnectionKind.js"
import { builtInGateways, ConnectionKinds } from "./connections/ConnectionKinds.js"
import { ConnectionStore } from "./connections/ConnectionStore.js"
import { Connections } from "./connections/Connections.js"
import { ConnectionUses } from "./connections/ConnectionUses.js"
import { CredentialProxy } from "./connections/CredentialProxy.js"
import { ValidationStore } from "./connections/ValidationStore.js"
import { Validations } from "./connections/Validations.js"
import { DelegationResults } from "./delegations/DelegationResults.js"
import { DelegationStore } from "./delegations/DelegationStore.js"
import { Delegations } from "./delegations/Delegations.js"
import * as DelegationTurns from "./delegations/DelegationTurns.js"
import { ResultSchemas } from "./delegations/ResultSchemas.js"
import { ResultStore } from "./delegations/ResultStore.js"
import { WaitStore } from "./delegations/WaitStore.js"
import { Waits } from "./delegations/Waits.js"
import { webhookTypes } from "./Events.js"
import { EventFeed } from "./events/EventFeed.js"
import { EventLog } from "./events/EventLog.js"
import { EventRetention } from "./events/EventRetention.js"
import { WorkspaceEvents } from "./events/WorkspaceEvents.js"
import { WorkspaceFeed } from "./events/WorkspaceFeed.js"
import { HarnessSwitches } from "./execution/HarnessSwitches.js"
import { NativeStateExport } from "./execution/NativeStateExport.js"
import { SessionExecutors } from "./execution/SessionExecutors.js"
import { TurnSetup } from "./execution/TurnSetup.js"
import { Executors } from "./executor/Executors.js"
import { markVariables } from "./executor/Marks.js"
import { Files } from "./files/Files.js"
import type { ForgeKind } from "./forge/Forge.js"
import { builtInForges, Forges } from "./forge/Forges.js"
import { Git } from "./git/Git.js"
import { builtInDrivers, Harness } from "./harness/Harness.js"
import type { HarnessDriver } from "./harness/HarnessDriver.js"
import { HarnessInstall } from "./harness/Install.js"
import { Manifests } from "./harness/Manifests.js"
import { Accounts } from "./identity/Accounts.js"
import { ApiKeys } from "./identity/ApiKeys.js"
import * as IdentityStores from "./identity/IdentityStores.js"
import { LoginSessions } from "./identity/LoginSessions.js"
import type { Mailer } from "./identity/Mailer.js"
import { Members } from "./identity/Members.js"
import * as OutboxMailer from "./identity/OutboxMailer.js"
import { PasswordChanges } from "./identity/PasswordChanges.js"
import { Passwords } from "./identity/Passwords.js"
import * as SmtpMailer from "./identity/SmtpMailer.js"
import { Workspaces } from "./identity/Workspaces.js"
import { JobClaims } from "./jobs/JobClaims.js"
import { JobStore } from "./jobs/JobStore.js"
import { Jobs } from "./jobs/Jobs.js"
import { Outbound } from "./outbound/Outbound.js"
import { WayOut } from "./outbound/WayOut.js"
import { Boot } from "./placement/Boot.js"
import type { Nodes } from "./placement/Nodes.js"
import { oneMachine, type Placements } from "./placement/Placements.js"
import { ProjectSecrets } from "./projects/ProjectSecrets.js"
import { ProjectStore } from "./projects/ProjectStore.js"
import { Projects } from "./projects/Projects.js"
import { tables } from "./Rooms.js"
import { KeyRing } from "./secrets/KeyRing.js"
import { Vault } from "./secrets/Vault.js"
import { Inbox } from "./sessions/Inbox.js"
import { Interactions } from "./sessions/Interactions.js"
import { Messages } from "./sessions/Messages.js"
import { MessageStore } from "./sessions/messages/MessageStore.js"
import { UploadStore } from "./sessions/messages/UploadStore.js"
import { Quotas } from "./sessions/Quotas.js"
import { InteractionStore } from "./sessions/questions/InteractionStore.js"
import { SessionLifecycles } from "./sessions/SessionLifecycles.js"
import { SessionListeners } from "./sessions/SessionListeners.js"
import { SessionStore } from "./sessions/SessionStore.js"
import { Sessions } from "./sessions/Sessions.js"
import { Turns } from "./sessions/Turns.js"
import * as ConnectionTurns from "./sessions/turns/ConnectionTurns.js"
import { Steering } from "./sessions/turns/Steering.js"
import { TurnStore } from "./sessions/turns/TurnStore.js"
import { Usages } from "./sessions/usage/Usages.js"
import type { Bell } from "./store/Bell.js"
import { Database } from "./store/Database.js"
import { Idempotency } from "./store/Idempotency.js"
import { Journal } from "./store/Journal.js"
import * as NewestIds from "./store/NewestIds.js"
import { Readiness } from "./store/Readiness.js"
import { bindCredentials, KeyRotation, requireKeys } from "./upkeep/KeyRotation.js"
import { DeliveryQueue } from "./webhooks/DeliveryQueue.js"
import { WebhookStore } from "./webhooks/WebhookStore.js"
import { Webhooks } from "./webhooks/Webhooks.js"
import { AgentStateStore } from "./worktrees/AgentStateStore.js"
import { Leases } from "./worktrees/Leases.js"
import { SessionFiles } from "./worktrees/SessionFiles.js"
import { Snapshots } from "./worktrees/snapshots/Snapshots.js"
import { WorkingTreeStore } from "./worktrees/WorkingTreeStore.js"
import { WorkingTrees } from "./worktrees/WorkingTrees.js"

export { builtInGateways } from "./connections/ConnectionKinds.js"
export { builtInForges } from "./forge/Forges.js"
export { builtInDrivers } from "./harness/Harness.js"
// The lists of what is part of Reins, for programs that add to them.
export { worker } from "./Worker.js"

/** The services that given layers may need: the place where Reins runs, and its database. */
export type Given = CoreConfig | Boot | Database | Bell

/**
 * The parts of Reins that a program may replace, each as a plain value or a layer. A part that is left out is the same as in a server. `E` is
 * the type of the layers' failures.
 */
export interface Layers<E = unknown> {
  /** The providers, which `Manifests.layerOf` makes of manifests. The default is those in `manifests/`. */
  readonly manifests?: Layer.Layer<Manifests, E, Given>
  /** The ways to run agents, which `Executors.layerOf` makes of a list. The first of the list is its default. The default is `bubblewrap` where it works, and `local` elsewhere. */
  readonly executors?: Layer.Layer<Executors, E, Given>
  /** The ways to speak with agents, each a `HarnessDriver` of `harness/HarnessDriver`. The default is `builtInDrivers`. */
  readonly drivers?: ReadonlyArray<HarnessDriver>
  /** The kinds of forge, each a `ForgeKind` of `forge/Forge`. The default is `builtInForges`. */
  readonly forges?: ReadonlyArray<ForgeKind>
  /**
   * The kinds of connection besides `git` and those of forges, each a `ConnectionKind` of `connections/ConnectionKind`. The default is
   * `builtInGateways`.
   */
  readonly connectionKinds?: ReadonlyArray<ConnectionKind>
  /** The default sends mails through the SMTP server of the configuration, or writes them to files in the outbox when it names none. */
  readonly mailer?: Layer.Layer<Mailer, E, Given>
  /** The keys that seal credentials. The default is the key file of the configuration, which is made when it does not exist. */
  readonly keyRing?: Layer.Layer<KeyRing, E, Given>
  /** The machines of the installation, and which of them has the files of each session. The default is this machine alone. */
  readonly nodes?: Layer.Layer<Nodes | Placements, E, Given>
  /** The database with its bell. Without it the core requires both, as `store/Sqlite` or `store/Postgres` give them. */
  readonly database?: Layer.Layer<Database | Bell, E, CoreConfig | Boot>
}

const fromConfig = <A, E, R>(make: (config: CoreConfig["Type"]) => Layer.Layer<A, E, R>) =>
  Layer.unwrapEffect(Effect.map(CoreConfig, make))

const keyFile = fromConfig((config) => KeyRing.layerFile(config.keyFile))

const configuredMailer = fromConfig((config) =>
  config.smtpUrl === null
    ? OutboxMailer.layer(join(config.dataDir, "outbox"))
    : SmtpMailer.layer(config.smtpUrl, config.mailFrom)
)

const git = Layer.unwrapEffect(
  Effect.map(Effect.all([CoreConfig, Boot]), ([config, { bootId }]) =>
    Git.layerWith({
      allowFile: config.allowLocalRepositories,
      allowSsh: config.allowSshRepositories,
      closedTo: [config.dataDir],
      maxDiffBytes: config.limits.diffBytes,
      maxDiffFileBytes: config.limits.diffFileBytes,
      maxDiffFiles: config.limits.diffFiles,
      marks: markVariables([{ kind: "boot", id: bootId }])
    })
  )
)

/** Everything outside of the service, from the given layers or the built-in ones, with the lists of installed names. */
const outside = <E>({ connectionKinds, drivers, executors, forges, keyRing, mailer, manifests, nodes }: Layers<E>) =>
  Installed.layerOf(webhookTypes).pipe(
    onTopOf(ConnectionKinds.layerOf(connectionKinds ?? builtInGateways)),
    onTopOf(
      oneByOne(
        fromConfig((config) => HarnessInstall.layer(config.cacheDir, config.egress)),
        Harness.layerOf(drivers ?? builtInDrivers),
        Forges.layerOf(forges ?? builtInForges)
      )
    ),
    onTopOf(
      Layer.mergeAll(
        manifests ?? Manifests.layer,
        executors ?? Executors.layer,
        keyRing ?? keyFile,
        mailer ?? configuredMailer,
        nodes ?? oneMachine,
        Layer.provide(git, WayOut.layer),
        Files.layer,
        LimitsInForce.layer,
        Outbound.layer,
        WayOut.layer,
        Passwords.layer
      )
    )
  )

const store = oneByOne(
  Journal.layer,
  Access.layer,
  Readiness.layer,
  onTopOf(Vault.layer)(oneByOne(bindCredentials, requireKeys)),
  NewestIds.layerOf(tables)
)

const identity = oneByOne(
  Accounts.layer,
  ApiKeys.layer,
  LoginSessions.layer,
  Members.layer,
  PasswordChanges.layer,
  Workspaces.layer
).pipe(onTopOf(IdentityStores.layer))

const sessions = oneByOne(Sessions.layer, Messages.layer, Turns.layer, Interactions.layer, Usages.layer).pipe(
  onTopOf(oneByOne(Inbox.layer, SessionLifecycles.layer, InteractionStore.layer)),
  onTopOf(Steering.layer),
  onTopOf(Quotas.layer),
  onTopOf(TurnStore.layer),
  onTopOf(oneByOne(MessageStore.layer, SessionListeners.layer, UploadStore.layer, ConnectionTurns.layer)),
  onTopOf(Providers.layer)
)

const delegations = DelegationTurns.layer.pipe(
  onTopOf(oneByOne(Delegations.layer, DelegationResults.layer, Waits.layer)),
  onTopOf(oneByOne(ResultStore.layer, ResultSchemas.layer)),
  onTopOf(DelegationStore.layer),
  onTopOf(WaitStore.layer)
)

const conversations = oneByOne(
  SessionFiles.layer,
  SessionExecutors.layer,
  HarnessSwitches.layer,
  NativeStateExport.layer
)

const changes = oneByOne(Applications.layer, MergeRequests.layer).pipe(
  onTopOf(Deliveries.layer),
  onTopOf(oneByOne(ApplicationStore.layer, DeliveryStore.layer, MergeRequestStore.layer))
)

const connected = oneByOne(
  Validations.layer,
  HarnessInstallations.layer,
  Layer.provide(Models.layer, Layer.provide(Workspaces.layer, IdentityStores.layer))
)

/** The maker of snapshots is loaded where the configuration names a store of blobs. */
const snapshots = Layer.unwrapEffect(
  Effect.flatMap(CoreConfig, ({ blobs }) =>
    blobs === null
      ? Effect.succeed(Snapshots.layerNone)
      : Effect.map(
          Effect.promise(() => import("./worktrees/snapshots/KeptSnapshots.js")),
          ({ layer }) => layer
        )
  )
)

const work = oneByOne(changes, delegations, conversations, connected).pipe(
  onTopOf(Changesets.layer),
  onTopOf(ChangesetStore.layer),
  onTopOf(TurnSetup.layer),
  onTopOf(WorkingTrees.layer),
  onTopOf(snapshots),
  onTopOf(Leases.layer),
  onTopOf(sessions),
  onTopOf(oneByOne(WorkingTreeStore.layer, AgentStateStore.layer)),
  onTopOf(SessionStore.layer),
  onTopOf(AgentPool.layer),
  onTopOf(oneByOne(Connections.layer, CredentialProxy.layer, Projects.layer, ProjectSecrets.layer)),
  onTopOf(ProjectStore.layer),
  onTopOf(oneByOne(ConnectionStore.layer, ConnectionUses.layer)),
  onTopOf(ValidationStore.layer)
)

const webhooks = oneByOne(Webhooks.layer, DeliveryQueue.layer).pipe(onTopOf(WebhookStore.layer))

/** Lets every service above the database tell the time by its clock, because other machines compare what is due and what has expired. */
const onTheClockOfIt = Layer.unwrapEffect(
  Effect.map(Database, ({ clock }) => (clock.ofProcess === null ? Layer.empty : Layer.setClock(clock.ofProcess)))
)

const compose = <E>(layers: Layers<E>) => {
  // The database is taken from the surroundings of the core when none is given.
  const database: Layer.Layer<Database | Bell, E, Given> = layers.database ?? Layer.context<Database | Bell>()
  return oneByOne(work, webhooks, EventFeed.layer, WorkspaceFeed.layer, onTopOf(identity)(KeyRotation.layer)).pipe(
    onTopOf(oneByOne(EventLog.layer, EventRetention.layer, WorkspaceEvents.layer)),
    onTopOf(oneByOne(BudgetStore.layer, Idempotency.layer, Jobs.layer, JobClaims.layer, JobStore.layer)),
    onTopOf(store),
    onTopOf(outside(layers)),
    onTopOf(onTopOf(database)(onTheClockOfIt))
  )
}

type Composed<E> = ReturnType<typeof compose<E>>

/** The failures of the layers that are given. */
export type FailureOf<L> = {
  [K in keyof L]: L[K] extends Layer.Layer<infer _A, infer E, infer _R> ? E : never
}[keyof L]

type Needs<L> = CoreConfig | Boot | (L extends { readonly database: object } ? never : Database | Bell)

/**
 * Every service of Reins, with parts of one's own in the place of ours:
 *
 *     Core.layerWith({ forges: [...Core.builtInForges, myForge], mailer: myMailer })
 *
 * It needs a `CoreConfig`, a `Boot` and, unless one is given, a `Database` with its `Bell`. It opens no port and starts no work of its
 * own. Fails as the given layers do, with `KeysMissing` or `KeyRingForeign` when the key ring is not that of the database, and with
 * `ProviderUndriven` or `ConnectionKindMissing` when a manifest names a driver or a kind of connection that is not there.
 */
export const layerWith = <const L extends Layers>(
  layers: L
): Layer.Layer<Layer.Layer.Success<Composed<never>>, Layer.Layer.Error<Composed<FailureOf<L>>>, Needs<L>> =>
  // Boundary: the compiler does not follow that the layers fail as their types say, and that a given database is needed no more.
  compose(layers as Layers<FailureOf<L>>) as Layer.Layer<
    Layer.Layer.Success<Composed<never>>,
    Layer.Layer.Error<Composed<FailureOf<L>>>,
    Needs<L>
  >

/** Every service of Reins, as a server has them: `layerWith` without anything of one's own. */
export const layer = layerWith({})
