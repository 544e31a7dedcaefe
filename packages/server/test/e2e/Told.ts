import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { listed } from "../contract/Specification.js"
import * as Story from "./Story.js"
import { server, surroundings } from "./Surroundings.js"
import { Visitor } from "./Visitor.js"

/**
 * Tells the whole story to a published server with these settings, in which every operation of the specification has to succeed, and gives
 * back what the visitor has recorded. `agentKeepsState` is true for an agent that has a record of its own.
 */
export const told = (settings: Readonly<Record<string, string>>, how: { readonly agentKeepsState: boolean }) =>
  Effect.gen(function* () {
    const around = yield* surroundings
    const { url } = yield* server(around.dataDir, settings)
    const visitor = new Visitor(url)
    yield* Effect.promise(() => Story.whole(visitor, around, how))
    const missing = listed.map(({ name }) => name).filter((name) => !visitor.succeeded.has(name))
    assert.deepStrictEqual(missing, [])
    return visitor.recorded
  })
