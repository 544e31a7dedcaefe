import { isSoak } from "@reins/testing/Volume"
import { afterAll, beforeAll, it } from "vitest"
import { audit } from "./Audit.js"
import type { FaultName } from "./Faults.js"
import { type Rig, startRig } from "./Rig.js"
import { type Phase, play } from "./Round.js"

/** The phases that the sessions of one node are in when a fault comes. A node that drains is in a round of its own. */
const together: ReadonlyArray<Phase> = ["idle", "preparing", "running", "sealing", "restoring"]
const draining: ReadonlyArray<Phase> = ["draining"]

/** Proves that a fault of a node loses and doubles nothing in any phase; while it drains, in full only where that costs less than it tells. */
export const prove = (rig: () => Rig, name: FaultName, { drains }: { readonly drains: "always" | "in full" }) => {
  const rounds = drains === "always" || isSoak ? [together, draining] : [together]
  for (const phases of rounds)
    it(`${name} while sessions are ${phases.join(", ")}`, async ({ onTestFailed }) => {
      onTestFailed(() => tell(rig()))
      await play(rig(), name, phases)
    })
}

/** One installation for all tests of a file. */
export const rigForFile = (): (() => Rig) => {
  let rig: Rig | undefined
  beforeAll(async () => {
    rig = await startRig(audit)
  })
  afterAll(() => rig?.end())
  return () => {
    if (rig === undefined) throw new Error("the installation did not start")
    return rig
  }
}

const tell = ({ nodes }: Rig): void => {
  for (const { log, name } of nodes) process.stderr.write(`\n== ${name}\n${log()}\n`)
}
