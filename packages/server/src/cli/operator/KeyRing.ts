import { existsSync } from "node:fs"
import { Args, Command } from "@effect/cli"
import { newRing, readRing, writeRing } from "@reins/core/secrets/KeyRingFile"
import * as DatabaseFile from "@reins/core/store/DatabaseFile"
import { KeyRotation, type KeyUse } from "@reins/core/upkeep/KeyRotation"
import { Effect } from "effect"
import type { Config } from "../../Config.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJson, tell } from "../terminal/Output.js"
import * as Installation from "./Installation.js"
import { configOf, installationOptions } from "./Settings.js"

const rotateOrPrune = (name: "rotate" | "prune", description: string) =>
  Command.make(name, installationOptions, (options) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const report = yield* holdingRing(
        config,
        Effect.provide(
          Effect.flatMap(KeyRotation, (rotation) => rotation[name]),
          Installation.layer(config)
        )
      )
      for (const use of report.kept) tell(reasonToKeep(use))
      if (name === "rotate")
        tell(
          `Keep a copy of ${Installation.coreConfigOf(config).keyFile} apart from the backups. Earlier copies lack the new key.`
        )
      yield* printJson({ event: name === "rotate" ? "rotated" : "pruned", ...report })
    })
  ).pipe(Command.withDescription(description))

const forget = Command.make(
  "forget",
  { ...installationOptions, ids: Args.text({ name: "key" }).pipe(Args.atLeast(1)) },
  ({ ids, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const { keyFile } = Installation.coreConfigOf(config)
      yield* holdingRing(
        config,
        Effect.gen(function* () {
          const ring = existsSync(keyFile) ? yield* readRing(keyFile) : newRing()
          const held = ids.filter((id) => ring.keys.has(id))
          if (held.length > 0)
            return yield* new CommandFailed({
              message: `${held.join(", ")} is in the key ring, so nothing is lost with it. To remove old keys, run: reins keyring prune`
            })
          yield* writeRing(keyFile, { ...ring, forgotten: new Set([...ring.forgotten, ...ids]) })
        })
      )
      tell(
        "Credentials sealed with these keys can no longer be opened. Give each of their connections its credential again."
      )
      yield* printJson({ event: "forgotten", keys: ids })
    })
).pipe(Command.withDescription("Give up the credentials that are sealed with lost keys, so that the server starts"))

const create = Command.make("create", installationOptions, (options) =>
  Effect.gen(function* () {
    const { keyFile } = Installation.coreConfigOf(yield* configOf(options))
    const isThere = existsSync(keyFile)
    yield* isThere ? readRing(keyFile) : writeRing(keyFile, newRing(), true)
    yield* printJson({ event: isThere ? "kept" : "created", file: keyFile })
  })
).pipe(Command.withDescription("Make the key ring that several machines share, unless it is there"))

/** `reins keyring` */
export const keyring = Command.make("keyring").pipe(
  Command.withDescription("The keys that seal stored credentials"),
  Command.withSubcommands([
    rotateOrPrune("rotate", "Seal everything with a new key, also while the server runs"),
    rotateOrPrune("prune", "Remove the old keys that nothing needs"),
    forget,
    create
  ])
)

/** Allows one command at a time to change a ring. */
const holdingRing = <A, E, R>(config: Config, change: Effect.Effect<A, E, R>) =>
  Effect.scoped(
    Effect.zipRight(
      Effect.catchTag(
        DatabaseFile.hold(`${Installation.coreConfigOf(config).keyFile}.lock`),
        "LockHeld",
        () =>
          new CommandFailed({ message: "Another command changes the key ring. Run this one when that one has ended." })
      ),
      change
    )
  )

const reasonToKeep = (use: KeyUse): string => {
  const reasons = [
    ...(use.credentials > 0 ? [`${use.credentials} credentials that could not be sealed anew`] : []),
    ...(use.answers > 0 ? [`${use.answers} answers that can still be repeated (for 72 hours at most)`] : []),
    ...(use.logins > 0 ? [`${use.logins} logins (for 30 days at most)`] : []),
    ...(use.recent ? ["it was current within the last hour"] : [])
  ]
  return `The old key ${use.id} stays: ${reasons.join(", ")}. Run this later: reins keyring prune`
}
