import { askRaw, otherSpellings, statusOf } from "@reins/testing/process/Spellings"
import { Effect } from "effect"
import { assert } from "vitest"

/** Fails where a proxy lets anybody read the figures, or reach what servers say to each other, by any spelling of their paths. */
export const assertHidden = async (port: number): Promise<void> => {
  for (const path of ["/metrics", "/internal/sessions/sess_1/deltas"])
    for (const spelling of [path, ...otherSpellings(path)]) {
      const answer = await Effect.runPromise(askRaw(port, spelling))
      // Caddy sends a path with a doubled slash on to the clean one, which is hidden.
      assert.include([301, 308, 400, 404], statusOf(answer), spelling)
      assert.notInclude(answer, "reins_jobs", spelling)
    }
}
