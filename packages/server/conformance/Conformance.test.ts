import { assert, describe, it } from "vitest"
import { type Check, isUnmet, nameOf, runSuite } from "./Checks.js"
import { installationForFile } from "./Installation.js"
import { notApplicableIn, type Revision } from "./NotApplicable.js"

const installation = installationForFile()

/**
 * The checks of a revision. The program gives some answers five seconds, which a busy machine may take. So it tries the scenarios with an unmet
 * check that is not expected once more, by themselves.
 */
const conform = async (revision: Revision, expected: ReadonlySet<string>): Promise<ReadonlyArray<Check>> => {
  const { directory, openMcpUrl } = installation()
  const args = ["server", "--url", openMcpUrl, "--spec-version", revision, "--timeout", "120000"]
  const first = await runSuite({ directory, name: revision }, [...args, "--suite", "all"])
  const surprising = first.filter((check) => isUnmet(check) && !expected.has(nameOf(check)))
  const scenarios = new Set(surprising.map(({ scenario }) => scenario))
  const again: Array<Check> = []
  for (const scenario of scenarios)
    again.push(...(await runSuite({ directory, name: `${revision}-${scenario}` }, [...args, "--scenario", scenario])))
  return [...first.filter(({ scenario }) => !scenarios.has(scenario)), ...again]
}

describe("/mcp before the conformance suite", () => {
  // With fewer passed checks the program has tried less than it did when this was written.
  const revisions: ReadonlyArray<readonly [Revision, number]> = [
    ["2025-11-25", 35],
    ["2026-07-28", 87]
  ]
  for (const [revision, floor] of revisions)
    it(`passes every check of ${revision} that is not about a reference server`, async () => {
      const expected = notApplicableIn(revision)
      const checks = await conform(revision, new Set(expected))
      const unmet = checks.filter(isUnmet)
      const faults = unmet.filter((check) => !expected.includes(nameOf(check)))
      assert.deepStrictEqual(
        faults.map((check) => `${nameOf(check)}: ${check.errorMessage ?? ""}`),
        []
      )
      // A check that is met by now has no place on the list.
      const names = unmet.map(nameOf)
      assert.deepStrictEqual(
        expected.filter((name) => !names.includes(name)),
        []
      )
      assert.isAtLeast(checks.filter(({ status }) => status === "SUCCESS").length, floor)
    })
})
