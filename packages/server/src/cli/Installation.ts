import * as Core from "@reins/core/Core"
import { CoreConfig } from "@reins/core/CoreConfig"
import { Placement } from "@reins/core/placement/Placement"
import { Bell } from "@reins/core/store/Bell"
import * as Postgres from "@reins/core/store/Postgres"
import * as Sqlite from "@reins/core/store/Sqlite"
import { Layer } from "effect"
import type { Config } from "../Config.js"

/** The core with the database that the configuration names. It neither listens nor works jobs. */
export const layer = (config: Config) =>
  Layer.provideMerge(Core.layer, Layer.mergeAll(database(config), coreConfig(config), Placement.layerSingle))

/** Keeps other servers off the data directory while this one runs. */
export const lock = (config: Config) => Sqlite.lockLayer(config.dataDir)

const database = (config: Config) =>
  config.databaseUrl === undefined
    ? Layer.merge(Sqlite.layer(config.dataDir), Bell.layer)
    : Postgres.layer(config.databaseUrl)

const coreConfig = (config: Config) =>
  CoreConfig.layer({
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
    ...(config.turnMinutes !== undefined && { turnDeadlineMs: config.turnMinutes * 60_000 })
  })
