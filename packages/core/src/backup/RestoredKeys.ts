import { existsSync } from "node:fs"
import { join } from "node:path"
import { newRing, readRing, writeRing } from "@reins/base/secrets/KeyRingFile"
import { Effect } from "effect"
import { BackupError, type BackupManifest, explained, parts } from "./BackupManifest.js"
import type { Inventory } from "./Inventory.js"

/** The key rings that a restore may use. */
interface KeyRequest {
  /** The path at which the server will look for its key ring. */
  readonly keyFile: string
  /** The path of a key ring that was kept apart from the backup. */
  readonly keyRing: string | undefined
  /** Gives up the credentials whose keys are not found. */
  readonly withoutKeys: boolean
}

/**
 * Finds the key ring that opens the credentials, and stages it unless it is already in place. Gives the keys that it lacks. Fails when keys are
 * missing and were not given up.
 */
export const keysFor = Effect.fnUntraced(function* (
  request: KeyRequest,
  manifest: BackupManifest,
  { keyIds, ringKeyId }: Pick<Inventory, "keyIds" | "ringKeyId">,
  stage: string
) {
  const inPlace = existsSync(request.keyFile)
  if (inPlace && request.keyRing !== undefined)
    return yield* new BackupError({
      message: `There is a key ring at ${request.keyFile} already. Leave --keyring out to use it, or move it away.`
    })
  const included = manifest.key_ring === "included" ? join(stage, parts.keyRing, "keyring.json") : undefined
  const found = request.keyRing ?? (inPlace ? request.keyFile : included)
  const ring = found === undefined ? undefined : yield* Effect.mapError(readRing(found), explained)
  const missing = keyIds.filter((id) => ring?.keys.has(id) !== true)
  if (missing.length > 0 && !request.withoutKeys) return yield* keysMissing(missing, found)
  // A database that was dumped names the ring of its machines. Where it is lost, it seals nothing that is needed.
  const given = ringKeyId === undefined || ring?.keys.has(ringKeyId) === true ? missing : [...missing, ringKeyId]
  if (ring !== undefined && inPlace && given.length === 0) return missing
  const { forgotten, ...rest } = ring ?? newRing()
  yield* writeRing(stagedRing(stage), { ...rest, forgotten: new Set([...forgotten, ...given]) }).pipe(
    Effect.mapError(explained)
  )
  return missing
})

/** The key ring of a restore until it is in place. */
export const stagedRing = (stage: string): string => join(stage, "keyring.json")

const keysMissing = (missing: ReadonlyArray<string>, found: string | undefined) =>
  new BackupError({
    message:
      `The credentials of the backup are sealed with the key ${missing.join(", ")}, which ` +
      `${found === undefined ? "is in no key ring here" : `the key ring ${found} does not hold`}. A backup holds no keys unless it ` +
      "was made with --with-keyring. Give the keyring.json that was kept apart from it with --keyring <file>; or give those " +
      "credentials up with --without-keys: all else is restored, and each connection needs its credential again."
  })
