import { Effect, Schema } from "effect"
import { Bench } from "../bench/Bench.js"
import { SessionId } from "../domain/Ids.js"
import { receiptStore } from "./Receipts.js"

/** The sessions that are looked up at once. */
const batch = 500

/**
 * Removes the files that this machine still has of deleted sessions. Another node has deleted them when this one had the sessions before, and was
 * away or had moved the files aside.
 */
export const fileSweep = Effect.gen(function* () {
  const { disk } = yield* Bench
  const receipts = yield* receiptStore

  return Effect.gen(function* () {
    const { aside, present } = yield* disk.list
    const ids = [...new Set([...present, ...aside])].filter(Schema.is(SessionId))
    for (let from = 0; from < ids.length; from += batch)
      for (const id of yield* receipts.deletedOf(ids.slice(from, from + batch))) yield* disk.forget(id)
  }).pipe(Effect.withSpan("fileSweep"))
})
