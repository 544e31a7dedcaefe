import { Cause, Effect, Exit } from "effect"
import { isSoak } from "../Volume.js"
import type { Change } from "./Answer.js"

/** A place where the product reads what others say, with all changes that it goes through. */
export interface Border<R> {
  /** The counterpart and what it is asked for, as in "GitHub: the check runs". */
  readonly name: string
  readonly changes: ReadonlyArray<Change>
  /**
   * Has the product read the changed answer, and gives what is wrong about what came of it: nothing where all holds. It dies where the border
   * itself does not work, as when the other side was not asked.
   */
  readonly ask: (change: Change) => Effect.Effect<ReadonlyArray<string>, never, R>
  /** The changes that are known to come out wrong, with the reason why they stay so. One that holds has to leave the list. */
  readonly assumed?: Readonly<Record<string, string>>
}

/** The result of a border. */
export interface Tally {
  readonly tried: number
  /** A line for each change that came out wrong and is on no list, and for each listed one that holds. */
  readonly wrong: ReadonlyArray<string>
}

const longestMs = 30_000

/** Another one of ten parts for each commit. `REINS_WORLD_SEED` names it. */
const part = Number(process.env["REINS_WORLD_SEED"] ?? 0) % 10

/** The changes that a border which starts servers tries: a tenth, and all of them in the soak. */
export const tenthOf = <A>(changes: ReadonlyArray<A>): ReadonlyArray<A> =>
  isSoak ? changes : changes.filter((_, at) => at % 10 === part)

/** Tries all changes of a border, one after the other, and writes one line with the figures. */
export const tryBorder = <R>({ ask, assumed = {}, changes, name }: Border<R>): Effect.Effect<Tally, never, R> =>
  Effect.gen(function* () {
    const wrong: Array<string> = []
    let known = 0
    const begun = performance.now()
    for (const change of changes) {
      const exit = yield* ask(change).pipe(
        Effect.timeoutTo({
          duration: longestMs,
          onSuccess: (problems) => problems,
          onTimeout: () => [`no answer in ${longestMs / 1000} s`]
        }),
        Effect.exit
      )
      const problems = Exit.isSuccess(exit) ? exit.value : [`a defect: ${Cause.pretty(exit.cause).slice(0, 2000)}`]
      const reason = assumed[change.name]
      if (problems.length > 0 && reason === undefined)
        wrong.push(`${change.kind} | ${change.name}: ${problems.join("; ")}`)
      if (problems.length > 0 && reason !== undefined) known += 1
      if (problems.length === 0 && reason !== undefined) wrong.push(`${change.name}: it holds, so take it off the list`)
    }
    const ms = Math.round(performance.now() - begun)
    const figures = `${changes.length} tried, ${wrong.length} wrong, ${known} known as wrong, ${ms} ms`
    yield* Effect.sync(() => process.stdout.write(`world: ${name}: ${figures}\n`))
    return { tried: changes.length, wrong }
  })
