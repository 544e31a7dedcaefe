import { rmSync } from "node:fs"
import { join } from "node:path"
import * as DatabaseFile from "@reins/core/store/DatabaseFile"
import { serverLock } from "@reins/core/store/DataDirectory"
import { Effect, Layer, Schema } from "effect"
import type { Config } from "../../Config.js"
import { installationFile } from "./InstallationFile.js"

const Address = Schema.Struct({
  /** The address on this machine. */
  url: Schema.String,
  /** The address at which people reach it. */
  public_url: Schema.String,
  pid: Schema.Int
})

/** The addresses of the server that works on a data directory. */
export type ServerAddress = typeof Address.Type

const name = "server.json"

const file = installationFile(name, Address, "is not the address of a server. Remove it.")

/** The URL by which programs of this machine reach a server that listens there. */
export const localUrl = ({ host, port }: Pick<Config, "host" | "port">): string => {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host
  return `http://${reachable.includes(":") ? `[${reachable}]` : reachable}:${port}`
}

/** Tells other commands the address of this server while the layer lives. A server that cannot write it serves all the same. */
export const layer = (config: Config, port: number) =>
  Layer.scopedDiscard(
    Effect.acquireRelease(
      file.write(config.dataDir, {
        url: localUrl({ host: config.host, port }),
        public_url: config.publicUrl.href.replace(/\/$/, ""),
        pid: process.pid
      }),
      () =>
        Effect.flatMap(found(config), (address) =>
          Effect.sync(() => {
            // With PostgreSQL another server of this directory may have written its own.
            if (address?.pid === process.pid) rmSync(join(config.dataDir, name), { force: true })
          })
        )
    ).pipe(Effect.catchAllCause((cause) => Effect.logWarning("The address of the server could not be stored.", cause)))
  )

const found = ({ dataDir }: Pick<Config, "dataDir">): Effect.Effect<ServerAddress | undefined> =>
  Effect.orElseSucceed(file.read(dataDir), () => undefined)

/** True while a server of this machine works on the data directory. Those on PostgreSQL hold no lock. */
export const worksOn = ({ dataDir }: Pick<Config, "dataDir">): Effect.Effect<boolean> =>
  Effect.orElseSucceed(DatabaseFile.isHeld(serverLock(dataDir)), () => false)

/** The address of the server that works on the data directory; undefined when none does, or none has told its address. */
export const runningAddress = (
  config: Pick<Config, "databaseUrl" | "dataDir">
): Effect.Effect<ServerAddress | undefined> =>
  Effect.gen(function* () {
    const address = yield* found(config)
    if (address === undefined) return undefined
    // The lock of the operating system ends with its process. A process that ended hard has left its file.
    const isAlive = config.databaseUrl === undefined ? yield* worksOn(config) : isRunning(address.pid)
    return isAlive ? address : undefined
  })

const isRunning = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (cause) {
    return cause instanceof Error && "code" in cause && cause.code === "EPERM"
  }
}
