import type { CapabilityName } from "@reins/machine/harness/Capability"
import type { Check } from "@reins/machine/harness/Evidence"
import { Effect } from "effect"
import * as Abilities from "./conformance/Abilities.js"
import * as Failures from "./conformance/Failures.js"
import { ignoring } from "./conformance/ForeignServers.js"
import { finding, type Ground, newSession, type Place } from "./conformance/Ground.js"
import * as Hands from "./conformance/Hands.js"
import { keeping } from "./conformance/Keeping.js"
import * as Repository from "./conformance/Repository.js"
import { callingTools, holding } from "./conformance/Tools.js"

export { plan } from "./conformance/Failures.js"

/** The findings of a trial. One that breaks off is a check that has failed, and the others go on. None where only another trial is wanted. */
const tried = <E extends { readonly message: string }, R>(
  { only }: Ground,
  check: string,
  capability: CapabilityName | null,
  trial: Effect.Effect<Check | ReadonlyArray<Check>, E, R>
): Effect.Effect<ReadonlyArray<Check>, never, R> =>
  only !== undefined && only !== check
    ? Effect.succeed([])
    : trial.pipe(
        Effect.map((found) => [found].flat()),
        Effect.catchAll(({ message }) => Effect.succeed([finding(check, capability, false, message)]))
      )

/** The findings of a trial of a capability. None where the manifest of the ground does not call it `supported`. */
const triedIfHoped =
  (ground: Ground) =>
  <R>(
    check: string,
    capability: CapabilityName,
    trial: Effect.Effect<Check | ReadonlyArray<Check>, { readonly message: string }, R>
  ) =>
    ground.manifest.capabilities[capability] === "supported"
      ? tried(ground, check, capability, trial)
      : Effect.succeed([])

/** The work that every agent has to do, and what capabilities declare: those that the manifest of the ground calls `supported` are tried. */
export const abilities = (ground: Ground, place: Place) =>
  Effect.gen(function* () {
    const ifHoped = triedIfHoped(ground)
    return [
      ...(yield* tried(ground, "work", null, Abilities.firstTurn(ground, place))),
      ...(yield* ifHoped("models", "model_discovery", Abilities.listing(ground, place))),
      ...(yield* ifHoped("resume", "native_resume", Abilities.resuming(ground, place))),
      ...(yield* ifHoped("export", "native_state_export", Abilities.exporting(ground, place))),
      ...(yield* ifHoped("steer", "steer", Hands.steering(ground))),
      ...(yield* ifHoped("interrupt", "interrupt", Hands.interrupting(ground))),
      ...(yield* ifHoped("approval", "interactive_approval", Hands.approving(ground))),
      ...(yield* ifHoped("tools", "tool_calls", callingTools(ground))),
      ...(yield* tried(ground, "cancel", null, Hands.cancelling(ground)))
    ]
  })

/** The manners of the agent, of which hardly any is a capability. It waits for tools, takes files and models, lives on, and fails with a true reason. */
export const manners = (ground: Ground, place: Place) =>
  Effect.gen(function* () {
    return [
      ...(yield* tried(ground, "edit", null, Abilities.editing(ground, place))),
      ...(yield* tried(ground, "other model", null, Abilities.choosing(ground))),
      ...(yield* tried(ground, "image", null, Hands.seeing(ground, place))),
      ...(yield* triedIfHoped(ground)("long call", "tool_calls", holding(ground))),
      ...(yield* tried(ground, "servers of the repository", null, ignoring(ground))),
      ...(yield* tried(ground, "words alone", null, Repository.speaking(ground))),
      ...(yield* tried(ground, "large tree", null, Repository.beginning(ground))),
      ...(yield* tried(ground, "kept", null, keeping(ground))),
      ...(yield* tried(ground, "wrong key", null, Failures.wrongKey(ground))),
      ...(yield* tried(ground, "retry after", null, Failures.retrying(ground))),
      ...(yield* tried(ground, "failures", null, Failures.failing(ground)))
    ]
  })

/** The session that checks go on with where they can. */
export const newPlace = (ground: Ground) => newSession(ground)

/** The check of a gateway that never answers. The core of its ground has a short deadline. */
export const hanging = (ground: Ground) => tried(ground, "no answer", null, Failures.hanging(ground))

/** The names of all trials. Some have several checks. */
export const trials = [
  "work",
  "models",
  "resume",
  "export",
  "steer",
  "interrupt",
  "approval",
  "tools",
  "cancel",
  "edit",
  "other model",
  "image",
  "long call",
  "servers of the repository",
  "words alone",
  "large tree",
  "kept",
  "wrong key",
  "retry after",
  "failures",
  "no answer"
]
