import type { ForgeRefusals } from "@reins/machine/forge/ForgeRefusals"
import { Effect } from "effect"
import type { Observation } from "./ConnectionValidation.js"
import type { Seen, Verdict } from "./Verdict.js"

/**
 * The verdict that follows from the refusal of any request. Undefined when it tells nothing. A forge gives the table of its refusals, so that their words
 * count.
 */
export const refusal = (
  seen: Seen,
  at: Observation["observed_at"],
  table?: () => Promise<ForgeRefusals>
): Effect.Effect<Verdict | undefined> =>
  seen.answer.status < 400
    ? Effect.succeed(undefined)
    : Effect.promise(async () => (await import("./RefusedProbe.js")).verdictOfRefusal(seen, at, await table?.()))
