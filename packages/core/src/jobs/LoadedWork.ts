import { loadedOnce } from "@reins/base/base/Once"
import { Effect } from "effect"
import type { JobKind, JobWork } from "./JobKind.js"

/** The work of a kind whose program is loaded with its first job, as a server starts sooner without it. */
export const loadedWork = <R>(load: () => Promise<Effect.Effect<JobWork, never, R>>) =>
  Effect.gen(function* () {
    const loading = yield* loadedOnce(load)
    const work: JobWork = {
      run: (attempt) => Effect.flatMap(loading, ({ run }) => run(attempt)),
      failed: (claim, failure) => Effect.flatMap(loading, ({ failed }) => failed(claim, failure)),
      lost: (claim, loss) => Effect.flatMap(loading, ({ lost }) => lost(claim, loss))
    }
    return work
  })

/** A kind of job whose work is loaded so. */
export const loadedJob = <R>(
  terms: Omit<JobKind, keyof JobWork>,
  load: () => Promise<Effect.Effect<JobWork, never, R>>
): Effect.Effect<JobKind, never, R> => Effect.map(loadedWork(load), (work) => ({ ...terms, ...work }))
