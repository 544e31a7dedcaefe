// The limit of `npm test`, and the judgement of a run by it.

/** Above so many processor seconds `npm test` fails, on a machine whose yardstick takes half a second. The goal is lower. */
export const limitSeconds = 700
const goalSeconds = 600
const yardOfLimit = 0.5

/** The limit of a run. Whoever asks for another one gets it only when it is lower. */
export const limitOf = (asked) => (Number(asked) > 0 ? Math.min(limitSeconds, Number(asked)) : limitSeconds)

/**
 * Says what a run would have cost on that machine, and whether this is too much. A slow or busy machine makes the yardstick dearer as well, so it
 * fails no run.
 */
export const judged = (cost, yards, limit = limitSeconds) => {
  if (yards.length === 0)
    return {
      told: null,
      isOver: true,
      text: "The yardstick gave no figure, so nobody knows what the tests cost. Run it: node scripts/yardstick.mjs"
    }
  const yard = yards.reduce((sum, each) => sum + each, 0) / yards.length
  const told = Math.round((cost * yardOfLimit) / yard)
  const what = `the tests cost ${told} processor seconds. The goal is ${goalSeconds}, and above ${limit} they fail.`
  return {
    told,
    isOver: told > limit,
    text: `The yardstick was ${yard.toFixed(2)} s. Where it is ${yardOfLimit} s, ${what}`
  }
}
