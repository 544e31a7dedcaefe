import { join } from "node:path"
import { Effect, Layer } from "effect"
import type { Boot } from "./base/Boot.js"
import { CoreConfig } from "./base/CoreConfig.js"
import { oneByOne, onTopOf } from "./base/Layered.js"
import type { Bench } from "./bench/Bench.js"
import { Installed } from "./catalog/Installed.js"
import type { ConnectionKind } from "./connections/ConnectionKind.js"
import { builtInGateways, ConnectionKinds } from "./connections/ConnectionKinds.js"
import { webhookTypes } from "./Events.js"
import { Executors } from "./executor/Executors.js"
import type { ForgeKind } from "./forge/Forge.js"
import { builtInForges, Forges } from "./forge/Forges.js"
import { builtInDrivers, Harness } from "./harness/Harness.js"
import type { HarnessDriver } from "./harness/HarnessDriver.js"
import { HarnessInstall } from "./harness/Install.js"
import { Manifests } from "./harness/Manifests.js"
import type { Mailer } from "./identity/Mailer.js"
import * as OutboxMailer from "./identity/OutboxMailer.js"
import * as SmtpMailer from "./identity/SmtpMailer.js"
import { outbound } from "./outbound/Room.js"
import type { Nodes } from "./placement/Nodes.js"
import { oneMachine, type Placements } from "./placement/Placements.js"
import { sealedValues, services, tables } from "./Rooms.js"
import { KeyRing } from "./secrets/KeyRing.js"
import { Vault } from "./secrets/Vault.js"
import type { Bell } from "./store/Bell.js"
import { Database } from "./store/Database.js"
import * as NewestIds from "./store/NewestIds.js"
import { KeyRotation, requireKeys } from "./upkeep/KeyRotation.js"
import { fileLocks } from "./worktrees/SessionLock.js"

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
  /** The machine of the sessions: their files and their agents. The default is this process. */
  readonly bench?: Layer.Layer<Bench, E, Given>
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

/** The parts that a program may replace, as given or built in, with the lists of installed names. Some of them wait for something. */
const parts = <E>({
  bench,
  connectionKinds,
  drivers,
  executors,
  forges,
  keyRing,
  mailer,
  manifests,
  nodes
}: Layers<E>) =>
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
        bench ?? Layer.empty,
        fileLocks,
        outbound.layer
      )
    )
  )

/** The things that are looked at before anything else of the database: its keys, and the newest ids. */
const checked = oneByOne(onTopOf(Vault.layer)(requireKeys(sealedValues)), NewestIds.layerOf(tables))

/** Lets every service above the database tell the time by its clock, because other machines compare what is due and what has expired. */
const onTheClockOfIt = Layer.unwrapEffect(
  Effect.map(Database, ({ clock }) => (clock.ofProcess === null ? Layer.empty : Layer.setClock(clock.ofProcess)))
)

const compose = <E>(layers: Layers<E>) => {
  // The database is taken from the surroundings of the core when none is given.
  const database: Layer.Layer<Database | Bell, E, Given> = layers.database ?? Layer.context<Database | Bell>()
  return KeyRotation.layerOf(sealedValues).pipe(
    onTopOf(services),
    onTopOf(checked),
    onTopOf(parts(layers)),
    onTopOf(onTopOf(database)(onTheClockOfIt))
  ) satisfies Layer.Layer<never, unknown, Given>
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
