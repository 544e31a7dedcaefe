import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

// Most tests are not about the sandbox, and have to run where it does not work. Those that are name it themselves.
process.env["REINS_EXECUTOR"] ??= "local"

/**
 * The files that come first, as the ends of their paths. First the long ones whose work is done by other processes: agents and servers. Then
 * those that start many processes, because a process starts another one the faster the less memory it has, and the contract of the server
 * brings hundreds of megabytes. Then the long ones of that, so that none of them is what a run waits for at its end.
 */
const first = [
  "server/test/e2e/EndToEnd.test.ts",
  "server/test/docs/Readers.test.ts",
  "server/test/Serve.test.ts",
  "core/test/changes/",
  "core/test/git/",
  "core/test/sessions/",
  "core/test/execution/",
  "core/test/files/",
  "server/test/cli/",
  "server/test/contract/Fuzz.test.ts",
  "server/test/HostileFiles.test.ts"
]

/** The files in that order. Among equals, and for all others, the longest come first, by what they took or by their size. */
class LeanestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const rank = ({ moduleId }: TestSpecification) => {
      const at = first.findIndex((path) => moduleId.includes(`/${path}`))
      return at < 0 ? first.length : at
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
    sequence: { sequencer: LeanestFirst },
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    // A process runs one file after the other and loads what they share once.
    isolate: false,
    // Many tests wait for something: a third process keeps two cores busy. With fewer at least, the pool would end the first one that is
    // idle twice, and the run with it.
    // A process starts another one the faster the less memory it has, and without the first limit V8 lets garbage pile up to several times of
    // what is used. With a nursery of 32 MB in place of 16 most objects die in it, which is a tenth of all processor time.
    poolOptions: {
      forks: { minForks: 3, maxForks: 3, execArgv: ["--max-old-space-size=1024", "--max-semi-space-size=32"] }
    }
  }
})
