import { existsSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { identityFrom } from "@reins/base/domain/GitIdentity"
import { CommandFailed } from "@reins/cli/CommandFailed"
import * as Core from "@reins/core/Core"
import { enabledIn } from "@reins/core/catalog/EnabledProviders"
import * as BootRecord from "@reins/core/placement/BootRecord"
import { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import { databaseFile } from "@reins/core/store/DataDirectory"
import type { MigrationRefused, Others } from "@reins/core/store/Migrations"
import type { DatabaseUnreachable } from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Effect, Layer } from "effect"
import type { Config } from "../../Config.js"
import { enabledProviders } from "../harnesses/EnabledProviders.js"
import { storedEvidence } from "../harnesses/StoredEvidence.js"

/** The core on the database that the configuration names. It neither listens nor works on jobs. */
export const layer = (config: Config) => Layer.provideMerge(core(config), around(config, Boot.layerSingle))

/** Fails where there is no installation. Only `serve`, `init` and `restore` make one. */
export const required = (config: Config): Effect.Effect<void, CommandFailed> =>
  isThere(config)
    ? Effect.void
    : new CommandFailed({
        message: `There is no installation in ${config.dataDir}. Make one with \`reins init\`, or name yours with --data-dir.`
      })

const isThere = ({ databaseUrl, dataDir }: Config): boolean =>
  databaseUrl !== undefined || existsSync(databaseFile(dataDir))

/** `layer` for an installation that is there. */
export const existing = (config: Config) => Layer.unwrapEffect(Effect.as(required(config), layer(config)))

/** `layer` for an installation that is there, and otherwise one that is forgotten with the layer. */
export const anyhow = (config: Config) =>
  Layer.unwrapScoped(
    Effect.map(
      Effect.orElse(Effect.as(required(config), config.dataDir), () => temporaryDirectory),
      (dataDir) => layer({ ...config, dataDir })
    )
  )

const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))
)

const core = (config: Config) => Core.layerWith({ manifests: manifests(config) })

const around = (config: Config, boot: Layer.Layer<Boot>) => Layer.mergeAll(database(config), coreConfig(config), boot)

/**
 * The providers of an installation: the built-in ones, those that were enabled, and those of its directory of manifests, with the evidence that
 * it has of them.
 */
export const manifests = ({ dataDir, manifestsDir: directory }: Pick<Config, "dataDir" | "manifestsDir">) =>
  Layer.unwrapEffect(
    Effect.map(Effect.all([enabledProviders(dataDir), storedEvidence(dataDir)]), ([enabled, evidence]) =>
      Manifests.layerIn({ directory, enabled, evidence })
    )
  )

/** `manifests` with the providers that the database names, where it can be read: for commands that need nothing else of it. */
export const knownManifests = (config: Config) =>
  Layer.effectDiscard(
    Effect.flatMap(Effect.all([Manifests, enabledIn]), ([{ enable }, ids]) => enable(ids)).pipe(
      Effect.provide(databaseAsIs(config)),
      Effect.when(() => isThere(config)),
      // The manifests of the release are there all the same.
      Effect.catchAllCause(() => Effect.void)
    )
  ).pipe(Layer.provideMerge(manifests(config)))

/**
 * The core of a server that works on jobs. With SQLite it keeps other servers off the data directory. With PostgreSQL other servers of the
 * machine may share the database and the directory, and take over the jobs of a server that was lost.
 */
export const workingLayer = (config: Config) => {
  const { databaseUrl, node } = config
  const alone = databaseUrl === undefined
  const below = around(config, BootRecord.layer(config.dataDir, { alone }))
  const installation = alone
    ? Layer.provideMerge(core(config), below)
    : Layer.unwrapEffect(
        Effect.map(severalMachines, ({ amongNodes, withoutNodes }) =>
          node === undefined
            ? core(config).pipe(Layer.provideMerge(withoutNodes), Layer.provideMerge(below))
            : Core.layerWith({ manifests: manifests(config), nodes: amongNodes(node, config, databaseUrl) }).pipe(
                Layer.provideMerge(below)
              )
        )
      )
  return Layer.provide(installation, lock(config))
}

/** Loaded at its first use, because a machine with SQLite needs nothing of it. */
const severalMachines = Effect.promise(() => import("./SeveralMachines.js"))

/** Keeps other users off the data directory, and other servers where it holds the database. */
export const lock = (config: Config) =>
  config.databaseUrl === undefined
    ? Sqlite.lockLayer(config.dataDir)
    : Layer.effectDiscard(Sqlite.usable(config.dataDir))

/** Loaded at its first use, because loading the driver takes 30 ms and SQLite needs nothing of it. */
const postgres = Effect.promise(() => import("@reins/core/store/Postgres"))

/** The servers that are at work on the database besides this process. */
export const others = ({ databaseUrl, dataDir }: Config): Effect.Effect<Others> =>
  databaseUrl === undefined
    ? Effect.succeed(Sqlite.serverAtWork(dataDir))
    : Effect.map(postgres, ({ atWork }) => atWork)

/** The database as it is. Its schema is not brought up to date. `writes` refuses one that a server could not work on. */
export const databaseAsIs = (
  { databaseUrl, dataDir }: Config,
  { writes = false }: { readonly writes?: boolean } = {}
): Layer.Layer<Database, { readonly message: string }> =>
  databaseUrl === undefined
    ? Sqlite.layerFileAsIs(dataDir)
    : Layer.unwrapEffect(Effect.map(postgres, ({ layerAsIs }) => layerAsIs(databaseUrl, { writes })))

/** The database with its schema brought up to date, and its bell. */
export const database = (
  config: Config
): Layer.Layer<Database | Bell, MigrationRefused | DatabaseUnreachable | Sqlite.DataDirectoryUnusable> => {
  const { databaseConnections: connections, databaseUrl, dataDir } = config
  if (databaseUrl === undefined) return Layer.merge(Sqlite.layer(dataDir), Bell.layer)
  // The locks of a node that was cut off must not hold up those who go on with its sessions.
  const claimMs = coreConfigOf(config).leaseMs / 3
  const idleInTransactionMs = config.node === undefined ? claimMs : Math.min(claimMs, config.node.leaseSeconds * 500)
  return Layer.unwrapEffect(
    Effect.map(postgres, ({ layer }) =>
      layer(databaseUrl, { connections, idleInTransactionMs, isNode: config.node !== undefined })
    )
  )
}

const coreConfig = (config: Config) => Layer.sync(CoreConfig, () => coreConfigOf(config))

/** The settings of the core, with its defaults. */
export const coreConfigOf = (config: Config): CoreConfig["Type"] =>
  CoreConfig.from({
    dataDir: config.dataDir,
    publicUrl: config.publicUrl.href.replace(/\/$/, ""),
    allowLocalRepositories: config.allowLocalRepositories,
    allowSshRepositories: config.allowSshRepositories,
    allowPrivateHosts: config.allowPrivateHosts,
    egress: config.egress,
    sharedDirectories: config.sharedDirectories,
    executors: config.executors,
    agentLimits: config.agentLimits,
    agentsBy: config.agentsBy,
    ...(config.containerImage !== undefined && { containerImage: config.containerImage }),
    ...(config.containerEngine !== undefined && { containerEngine: config.containerEngine }),
    smtpUrl: config.smtpUrl ?? null,
    pushKey: config.pushKey ?? null,
    ...(config.cacheDir !== undefined && { cacheDir: config.cacheDir }),
    ...(config.keyFile !== undefined && { keyFile: config.keyFile }),
    ...(config.mailFrom !== undefined && { mailFrom: config.mailFrom }),
    ...(config.gitCommitter !== undefined && { gitCommitter: identityFrom(config.gitCommitter) }),
    ...(config.maxRunningTurns !== undefined && { maxRunningTurns: config.maxRunningTurns }),
    limits: {
      ...config.limits,
      requestsPerMinute: config.rateLimit,
      ...(config.rateLimit === null && { registrationsPerHour: null, streamsPerSession: null })
    },
    ...(config.idleMinutes !== undefined && { idleReleaseMs: config.idleMinutes * 60_000 }),
    ...(config.agentIdleMinutes !== undefined && { agentIdleMs: config.agentIdleMinutes * 60_000 }),
    ...(config.maxIdleAgents !== undefined && { maxIdleAgents: config.maxIdleAgents }),
    ...(config.agentFreeBytes !== undefined && { agentFreeMemory: config.agentFreeBytes }),
    prewarm: config.prewarm,
    blobs: config.blobs,
    ...(config.setupSnapshotDays !== undefined && { setupSnapshotDays: config.setupSnapshotDays }),
    ...(config.setupSnapshotBytes !== undefined && { setupSnapshotBytes: config.setupSnapshotBytes }),
    ...(config.leaseSeconds !== undefined && { leaseMs: config.leaseSeconds * 1000 }),
    ...(config.turnMinutes !== undefined && { turnDeadlineMs: config.turnMinutes * 60_000 }),
    ...(config.interactionMinutes !== undefined && { interactionExpiryMs: config.interactionMinutes * 60_000 })
  })
