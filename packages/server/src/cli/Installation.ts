import { CoreConfig } from "@reins/core/base/CoreConfig"
import * as Core from "@reins/core/Core"
import { Placement } from "@reins/core/placement/Placement"
import { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import type { DatabaseNewer } from "@reins/core/store/Migrations"
import type { DatabaseUnreachable } from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { Effect, Layer } from "effect"
import type { Config } from "../Config.js"

/** The core with the database that the configuration names. It neither listens nor works jobs. */
export const layer = (config: Config, placement: Layer.Layer<Placement> = Placement.layerSingle) =>
  Layer.provideMerge(Core.layer, Layer.mergeAll(database(config), coreConfig(config), placement))

/**
 * A server that works jobs on the data directory. With SQLite it keeps others off while it runs; with PostgreSQL another server of the
 * machine may share the database and the directory, and takes over what this one loses.
 */
export const workingLayer = (config: Config) => {
  const alone = config.databaseUrl === undefined
  const installation = layer(config, Placement.layerOn(config.dataDir, { alone }))
  return Layer.provide(installation, lock(config))
}

/** Keeps others off a data directory whose database is in it. */
export const lock = (config: Config) =>
  config.databaseUrl === undefined ? Sqlite.lockLayer(config.dataDir) : Layer.empty

/** Loaded where it is used: with SQLite nothing of it is needed, and loading its driver takes some 30 ms. */
const postgres = Effect.promise(() => import("@reins/core/store/Postgres"))

/** The database as it is, which nothing is done to. */
export const databaseAsIs = ({ databaseUrl, dataDir }: Config): Layer.Layer<Database, { readonly message: string }> =>
  databaseUrl === undefined
    ? Sqlite.layerAsIs(dataDir)
    : Layer.unwrapEffect(Effect.map(postgres, ({ layerAsIs }) => layerAsIs(databaseUrl)))

export const database = (
  config: Config
): Layer.Layer<Database | Bell, DatabaseNewer | DatabaseUnreachable | Sqlite.DataDirectoryUnusable> => {
  const { databaseConnections: connections, databaseUrl, dataDir } = config
  if (databaseUrl === undefined) return Layer.merge(Sqlite.layer(dataDir), Bell.layer)
  const idleInTransactionMs = coreConfigOf(config).leaseMs / 3
  return Layer.unwrapEffect(
    Effect.map(postgres, ({ layer }) => layer(databaseUrl, { connections, idleInTransactionMs }))
  )
}

const coreConfig = (config: Config) => Layer.sync(CoreConfig, () => coreConfigOf(config))

/** What the core is told, with its defaults. */
export const coreConfigOf = (config: Config): CoreConfig["Type"] =>
  CoreConfig.from({
    dataDir: config.dataDir,
    publicUrl: config.publicUrl.href.replace(/\/$/, ""),
    allowLocalRepositories: config.allowLocalRepositories,
    allowPrivateHosts: config.allowPrivateHosts,
    smtpUrl: config.smtpUrl ?? null,
    ...(config.cacheDir !== undefined && { cacheDir: config.cacheDir }),
    ...(config.keyFile !== undefined && { keyFile: config.keyFile }),
    ...(config.mailFrom !== undefined && { mailFrom: config.mailFrom }),
    ...(config.maxRunningTurns !== undefined && { maxRunningTurns: config.maxRunningTurns }),
    limits: {
      ...config.limits,
      requestsPerMinute: config.rateLimit,
      ...(config.rateLimit === null && { streamsPerSession: null })
    },
    ...(config.idleMinutes !== undefined && { idleReleaseMs: config.idleMinutes * 60_000 }),
    ...(config.leaseSeconds !== undefined && { leaseMs: config.leaseSeconds * 1000 }),
    ...(config.turnMinutes !== undefined && { turnDeadlineMs: config.turnMinutes * 60_000 }),
    ...(config.interactionMinutes !== undefined && { interactionExpiryMs: config.interactionMinutes * 60_000 })
  })
