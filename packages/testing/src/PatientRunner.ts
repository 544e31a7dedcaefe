import type { Test } from "vitest"
import { VitestTestRunner } from "vitest/runners"
import { getFn } from "vitest/suite"
import { hasPassed } from "./MachineTime.js"

/** The machine seconds that a test may take which names no limit. */
const usualSeconds = 120

/** Ends a test by the time that the machine had for it. The limit of the wall (`testTimeout`) is for one that blocks its process. */
export default class PatientRunner extends VitestTestRunner {
  readonly runTask = async (test: Test): Promise<void> => {
    const seconds = test.timeout === this.config.testTimeout ? usualSeconds : test.timeout / 1000
    const over = new AbortController()
    const late = hasPassed(seconds, over.signal).then(() => {
      throw new Error(`The test has had ${seconds} seconds of a machine of its own.`)
    })
    try {
      await Promise.race([getFn(test)(), late])
    } finally {
      over.abort()
    }
  }
}
