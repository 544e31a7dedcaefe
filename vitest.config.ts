import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

// Most tests are not about the sandbox, and have to run where it does not work. Those that are name it themselves.
process.env["REINS_EXECUTOR"] ??= "local"

/** Long files, whose size does not tell it: they wait for real agents and for servers in processes of their own. */
const long = [
  "server/test/e2e/EndToEnd",
  "server/test/contract/Fuzz",
  "server/test/HostileFiles",
  "server/test/docs/Readers",
  "examples/sdk/test/session",
  "core/test/sessions/Turns",
  "core/test/changes/MergeRequests",
  "core/test/changes/Deliveries",
  "core/test/identity/Enumeration",
  "server/test/cli/Commands",
  "server/test/Serve"
]

/** The longest files first, so that none of them is what a run waits for at its end. The others go by what they took, or by size. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = long.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`))
      return at < 0 ? long.length : at
    }
    return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
  }
}

export default defineConfig({
  resolve: { conditions: ["@reins/source"] },
  ssr: { resolve: { conditions: ["@reins/source"] } },
  test: {
    include: ["packages/*/test/**/*.test.ts", "examples/*/test/**/*.test.ts"],
    // They need a browser, and have a suite of their own.
    exclude: ["**/node_modules/**", "packages/console/**"],
    globalSetup: ["./scripts/client.mjs", "./scripts/vitest-setup.ts"],
    setupFiles: ["./packages/testing/src/EffectMethods.ts"],
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 120_000,
    pool: "forks",
    // A process runs one file after the other and loads what they share once.
    isolate: false,
    // Many tests wait for something: a third process keeps two cores busy. With fewer at least, the pool would end the first one that is
    // idle twice, and the run with it.
    poolOptions: { forks: { minForks: 3, maxForks: 3 } }
  }
})
