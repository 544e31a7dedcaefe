import type { CapabilityName } from "@reins/core/domain/Capability"
import type { Check } from "@reins/core/harness/Evidence"
import { Effect } from "effect"
import * as Abilities from "./conformance/Abilities.js"
import * as Failures from "./conformance/Failures.js"
import { finding, type Ground, newSession, type Place } from "./conformance/Ground.js"
import * as Hands from "./conformance/Hands.js"
import { keeping } from "./conformance/Keeping.js"

export { plan } from "./conformance/Failures.js"

/** The findings of a trial. One that breaks off is a check that has failed, and the others go on. */
const tried = <E extends { readonly message: string }, R>(
  check: string,
  capability: CapabilityName | null,
  trial: Effect.Effect<Check | ReadonlyArray<Check>, E, R>
): Effect.Effect<ReadonlyArray<Check>, never, R> =>
  trial.pipe(
    Effect.map((found) => [found].flat()),
    Effect.catchAll(({ message }) => Effect.succeed([finding(check, capability, false, message)]))
  )

/** The work that every agent has to do, and what capabilities declare: those that the manifest of the ground calls `supported` are tried. */
export const abilities = (ground: Ground, place: Place) =>
  Effect.gen(function* () {
    const ifHoped = <R>(
      check: string,
      capability: CapabilityName,
      trial: Effect.Effect<Check | ReadonlyArray<Check>, { readonly message: string }, R>
    ) =>
      ground.manifest.capabilities[capability] === "supported" ? tried(check, capability, trial) : Effect.succeed([])
    return [
      ...(yield* tried("work", null, Abilities.firstTurn(ground, place))),
      ...(yield* ifHoped("models", "model_discovery", Abilities.listing(ground, place))),
      ...(yield* ifHoped("resume", "native_resume", Abilities.resuming(ground, place))),
      ...(yield* ifHoped("export", "native_state_export", Abilities.exporting(ground, place))),
      ...(yield* ifHoped("steer", "steer", Hands.steering(ground))),
      ...(yield* ifHoped("interrupt", "interrupt", Hands.interrupting(ground))),
      ...(yield* ifHoped("approval", "interactive_approval", Hands.approving(ground))),
      ...(yield* tried("cancel", null, Hands.cancelling(ground)))
    ]
  })

/** The manners of the agent, which no capability declares: it takes files and models, lives on between its turns, and fails with a true reason. */
export const manners = (ground: Ground, place: Place) =>
  Effect.gen(function* () {
    return [
      ...(yield* tried("edit", null, Abilities.editing(ground, place))),
      ...(yield* tried("other model", null, Abilities.choosing(ground))),
      ...(yield* tried("image", null, Hands.seeing(ground, place))),
      ...(yield* tried("tools over http", null, Abilities.connecting(ground))),
      ...(yield* tried("kept", null, keeping(ground))),
      ...(yield* tried("wrong key", null, Failures.wrongKey(ground))),
      ...(yield* tried("retry after", null, Failures.retrying(ground))),
      ...(yield* tried("failures", null, Failures.failing(ground)))
    ]
  })

/** The session that checks go on with where they can. */
export const newPlace = (ground: Ground) => newSession(ground)

/** The check of a gateway that never answers. The core of its ground has a short deadline. */
export const hanging = (ground: Ground) => tried("no answer", null, Failures.hanging(ground))
