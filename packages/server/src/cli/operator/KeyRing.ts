import { existsSync } from "node:fs"
import { newRing, readRing, writeRing } from "@reins/base/secrets/KeyRingFile"
import { command, type Example, entry, group, someArguments } from "@reins/cli/Command"
import { CommandFailed } from "@reins/cli/CommandFailed"
import { printJson, tell } from "@reins/cli/terminal/Output"
import * as DatabaseFile from "@reins/core/store/DatabaseFile"
import { KeyRotation, type KeyUse } from "@reins/core/upkeep/KeyRotation"
import { Effect } from "effect"
import type { Config } from "../../Config.js"
import * as Installation from "./Installation.js"
import { configOf, installationOptions } from "./Settings.js"

const rotateOrPrune = (name: "rotate" | "prune", examples: readonly [Example, Example]) =>
  command({
    takes: installationOptions,
    examples,
    run: (options) =>
      Effect.gen(function* () {
        const config = yield* configOf(options)
        yield* Installation.required(config)
        const report = yield* holdingRing(
          config,
          Effect.provide(
            Effect.flatMap(KeyRotation, (rotation) => rotation[name]),
            Installation.existing(config)
          )
        )
        for (const use of report.kept) tell(reasonToKeep(use))
        if (name === "rotate")
          tell(
            `Keep a copy of ${Installation.coreConfigOf(config).keyFile} apart from the backups. Earlier copies lack the new key.`
          )
        yield* printJson({ event: name === "rotate" ? "rotated" : "pruned", ...report })
      })
  })

const forget = command({
  takes: { ids: someArguments("key", "The ids of lost keys"), ...installationOptions },
  examples: [
    ["reins keyring forget key_1", "Give up what one lost key has sealed"],
    ["reins keyring forget key_1 key_2", "Give up what two have sealed"]
  ],
  run: ({ ids, ...options }) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      yield* Installation.required(config)
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
})

const create = command({
  takes: installationOptions,
  examples: [
    ["reins keyring create", "Make keyring.json in the data directory"],
    ["REINS_KEY_FILE=/etc/reins/keyring.json reins keyring create", "Make it elsewhere"]
  ],
  run: (options) =>
    Effect.gen(function* () {
      const config = yield* configOf(options)
      const { keyFile } = Installation.coreConfigOf(config)
      // The ring of several machines is made before the first of them, where somebody has said.
      if (config.keyFile === undefined && !isNamed(options)) yield* Installation.required(config)
      const isThere = existsSync(keyFile)
      yield* isThere ? readRing(keyFile) : writeRing(keyFile, newRing(), true)
      yield* printJson({ event: isThere ? "kept" : "created", file: keyFile })
    })
})

const isNamed = ({ data_dir }: { readonly data_dir: string | undefined }): boolean =>
  Boolean(data_dir ?? process.env["REINS_DATA_DIR"])

/** `reins keyring` */
export const keyring = group(
  entry(
    "rotate",
    "Seal everything with a new key, also while the server runs",
    rotateOrPrune("rotate", [
      ["reins keyring rotate", "Seal everything anew"],
      ["reins keyring prune", "Remove the old keys afterwards"]
    ])
  ),
  entry(
    "prune",
    "Remove the old keys that nothing needs",
    rotateOrPrune("prune", [
      ["reins keyring prune", "Remove what nothing needs, and tell what stays"],
      ["reins keyring prune --data-dir /var/lib/reins", "The same for another installation"]
    ])
  ),
  entry("forget", "Give up the credentials that lost keys have sealed", forget),
  entry("create", "Make the key ring that several machines share", create)
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
