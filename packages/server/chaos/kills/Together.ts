import type { ServerPoint } from "@reins/base/base/Failpoint"
import { assert } from "vitest"
import type { Installation } from "./Installation.js"
import type { Crash, Row } from "./matrix/Row.js"

/**
 * Plays a row so many times at once, on one server. Each play is held at the point. When all are there, the other servers start, and the one that
 * holds them is killed. Where there are others, it stays away. Gives the failures.
 */
export const playTogether = async (
  installation: Installation,
  point: ServerPoint,
  { play }: Row,
  count: number
): Promise<ReadonlyArray<unknown>> => {
  let expected = count
  let ready = 0
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const beginOnceAllAreReady = () => {
    if (ready < expected || expected === 0) return
    installation.servers.arm(`${point}*`)
    begin()
  }
  const killed = begun.then(async () => {
    const held = () => installation.servers.held().length
    try {
      await installation.until(() => held() >= expected, `${expected} to be held at ${point}`)
      assert.strictEqual(held(), expected, `were held at ${point} first`)
      await installation.servers.start()
    } finally {
      // More may have come to the point while the other servers started.
      assert.isAtLeast(await installation.servers.killHolders(), expected, `were held at ${point}`)
    }
  })
  // Each play looks at its failure.
  killed.catch(() => {})
  const outcomes = Array.from({ length: count }, async () => {
    let isReady = false
    const crash: Crash = async (act) => {
      isReady = true
      ready++
      beginOnceAllAreReady()
      await begun
      const acted = act()
      // Its failure is looked at below, once the server is back.
      acted.catch(() => {})
      await killed
      const result = await acted
      await installation.settled()
      return result
    }
    try {
      await play(installation, crash)
    } finally {
      // One that fails before its kill is not waited for.
      if (!isReady) {
        expected--
        beginOnceAllAreReady()
      }
    }
  })
  const failures = (await Promise.allSettled(outcomes)).flatMap((each) =>
    each.status === "rejected" ? [each.reason] : []
  )
  return failures
}
