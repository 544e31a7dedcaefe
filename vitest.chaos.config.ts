import { relative } from "node:path"
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import shared from "./vitest.config.js"

const { resolve = {}, ssr = {} } = shared

/** These measure what a server does to others, fill disks and mount: each file has the machine for itself. */
const alone = "packages/server/chaos/exhaustion/**/*.test.ts"

/** Those that take longest, which begin first so that none of them is left over at the end. */
const longest = [
  "kills/Crashes",
  "events/EventsThroughNginx",
  "kills/RandomKills",
  "lifecycle/Restarts",
  "lifecycle/Zombies",
  "lifecycle/Orphans",
  "lifecycle/Drain",
  "events/EventStorm"
]

class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const rank = ({ moduleId }: TestSpecification) => {
      const name = relative("packages/server/chaos", moduleId).replace(".test.ts", "")
      const at = longest.indexOf(name)
      return at === -1 ? longest.length : at
    }
    return [...files].sort((one, other) => rank(one) - rank(other))
  }
}

const group = (name: string, test: NonNullable<TestProjectInlineConfiguration["test"]>) => ({
  resolve,
  ssr,
  test: { ...test, name, pool: "forks" as const, testTimeout: 600_000, hookTimeout: 120_000, maxConcurrency: 2 }
})

/**
 * The suite that breaks real servers on purpose: first what can run beside each other, and for the most part waits for the servers that
 * it has killed, then one by one what wants the machine for itself.
 */
export default defineConfig({
  resolve,
  ssr,
  test: {
    globalSetup: shared.test?.globalSetup ?? [],
    pool: "forks",
    poolOptions: { forks: { maxForks: 3 } },
    sequence: { sequencer: LongestFirst },
    projects: [
      group("beside", { include: ["packages/server/chaos/**/*.test.ts"], exclude: [alone] }),
      group("alone", { include: [alone], poolOptions: { forks: { singleFork: true } } })
    ]
  }
})
