import { CoreConfig } from "@reins/base/base/CoreConfig"
import { once } from "@reins/base/base/Once"
import { Context, Effect } from "effect"
import { FileLocks } from "./FileLocks.js"

/** False where each session gets all of its objects itself, because its files are made to be taken elsewhere. */
export class SharesObjects extends Context.Reference<SharesObjects>()("@reins/core/bench/SharesObjects", {
  defaultValue: (): boolean => true
}) {}

/** The object stores of the sessions of this machine. The first session loads them. */
export const objectStores = Effect.gen(function* () {
  const { dataDir } = yield* CoreConfig
  const shares = yield* SharesObjects
  const makeLock = yield* FileLocks
  return yield* once(
    Effect.map(
      Effect.promise(() => import("./StoresHere.js")),
      ({ storesHere }) => storesHere(dataDir, shares, makeLock)
    )
  )
})
