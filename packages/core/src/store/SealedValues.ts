import type { SealedRecord } from "@reins/base/secrets/SealedRecords"
import type { Effect } from "effect"
import type { Database } from "./Database.js"

/** Reads the sealed values of some tables, which have to be sealed anew before their key goes. */
export type SealedValues = (db: Database["Type"]) => Effect.Effect<ReadonlyArray<SealedRecord>>
