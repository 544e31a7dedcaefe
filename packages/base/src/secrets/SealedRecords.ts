import { Effect, Option } from "effect"
import { sealedWith, type Vault } from "./Vault.js"

/** A sealed text in the database. */
export interface SealedRecord {
  readonly sealed: string
  /** The context that it is sealed for. */
  readonly context: string
  /** Puts another text in its place, in a commit of its own. A record that was changed meanwhile is left alone. */
  readonly replace: (again: string) => Effect.Effect<void>
}

type Records = ReadonlyArray<SealedRecord>

/** The ids of the keys that records are sealed with, sorted. */
export const keyIds = (records: Records): ReadonlyArray<string> =>
  [...new Set(records.flatMap(({ sealed }) => sealedWith(sealed) ?? []))].sort()

/** The number of records that are sealed with a key. */
export const countKeyedBy = (records: Records, keyId: string): number =>
  records.filter(({ sealed }) => sealedWith(sealed) === keyId).length

/**
 * Seals records with the current key of the ring and gives the number of those that had another key. A record that cannot be opened stays as it
 * is. The work can stop anywhere and be repeated.
 */
export const rewrap = Effect.fnUntraced(function* (records: Records, vault: Vault["Type"]) {
  let count = 0
  for (const { context, replace, sealed } of records) {
    const again = yield* Effect.option(vault.rewrap(sealed, context))
    if (Option.isNone(again) || again.value === sealed) continue
    yield* replace(again.value)
    count++
  }
  return count
})
