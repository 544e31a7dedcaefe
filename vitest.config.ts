import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { defineConfig, type TestProjectInlineConfiguration, type ViteUserConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

// Most tests are not about the sandbox, and have to run where it does not work. Those that are name it themselves.
process.env["REINS_EXECUTOR"] ??= "local"

type Suite = NonNullable<ViteUserConfig["test"]>

/** The suites import the sources of the packages. */
const sources = {
  resolve: { conditions: ["@reins/source"] },
  ssr: { resolve: { conditions: ["@reins/source"] } }
}

/** Sorts files by the first of the words that their path holds. Files with no such word come last. */
const sorting = (words: ReadonlyArray<string>, root: string) =>
  class extends BaseSequencer {
    override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
      const rank = ({ moduleId }: TestSpecification) => {
        const path = relative(root, moduleId)
        const at = words.findIndex((word) => path.startsWith(word))
        return at < 0 ? words.length : at
      }
      // The sequencer of vitest puts the longest first, by what they took or by their size.
      return (await super.sort(files)).sort((one, other) => rank(one) - rank(other))
    }
  }

/**
 * The files of `npm test` that come first. Long ones whose work is done by agents and servers begin. Then files that start many processes: a
 * process starts another one the faster the less memory it has, and the contract of the server brings hundreds of megabytes. Its long ones
 * follow, so that a run waits for none of them at its end.
 */
const leanestFirst = [
  "server/test/e2e/EndToEnd.test.ts",
  "core/test/changes/",
  "core/test/deliveries/",
  "core/test/requests/",
  "core/test/git/",
  "core/test/capture/",
  "core/test/repository/",
  "core/test/sessions/",
  "core/test/execution/",
  "core/test/files/",
  "server/test/cli/",
  "server/test/contract/Fuzz.test.ts",
  "server/test/HostileFiles.test.ts"
]

const prepared = ["./scripts/client.mjs", "./scripts/vitest-setup.ts"]
const effectMethods = ["./packages/testing/src/EffectMethods.ts"]
const measured = [...effectMethods, "./packages/testing/src/ProcessorTime.ts"]

/** Tests that start, kill and load whole servers and programs, in a folder with those of their subject that start none. */
const ofServers = ["packages/*/test/**/*.servers.test.ts", "examples/*/test/**/*.servers.test.ts"]

/** A test has two minutes of a machine of its own, which the runner counts. These limits are for one that blocks its process. */
const patient = {
  runner: "./packages/testing/src/PatientRunner.ts",
  testTimeout: 1_200_000,
  hookTimeout: 1_200_000
}

/** The suite of `npm test`. */
const own: Suite = {
  include: ["packages/*/test/**/*.test.ts", "examples/*/test/**/*.test.ts"],
  // They need a browser, and have a suite of their own.
  exclude: ["**/node_modules/**", "packages/console/**", ...ofServers],
  globalSetup: prepared,
  setupFiles: measured,
  sequence: { sequencer: sorting(leanestFirst, "packages") },
  ...patient,
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

/** The files whose flows have a row for each database or forge, or variants. */
const ofManyRows = () =>
  ["packages/core/test", "packages/server/test"].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .map((name) => join(folder, name))
      .filter(
        (file) =>
          file.endsWith(".test.ts") &&
          /\b(flowDatabases|forgeDatabases|flowServices|typeof rows|variants)\b/.test(readFileSync(file, "utf8"))
      )
  )

/** Files that fill disks, mount, and measure what a server does to others. Each has the machine for itself. */
const alone = "packages/server/chaos/exhaustion/**/*.test.ts"

/** The longest files of the chaos suite begin, so that a run waits for none of them at its end. */
const longestFirst = [
  "kills/Crashes",
  "events/EventsThroughNginx",
  "kills/RandomKills",
  "lifecycle/Restarts",
  "lifecycle/Zombies",
  "lifecycle/Orphans",
  "lifecycle/Drain",
  "events/EventStorm"
].map((name) => `${name}.test.ts`)

const breaking = (name: string, test: NonNullable<TestProjectInlineConfiguration["test"]>) => ({
  ...sources,
  test: { ...test, name, pool: "forks" as const, testTimeout: 600_000, hookTimeout: 120_000, maxConcurrency: 2 }
})

/** The suites by the word of `vitest run --mode <word>`. `test` is the one of a run that names none. */
const suitesOf = (mode: string): Readonly<Record<string, Suite>> => ({
  test: own,

  /** What `npm test` leaves of flows: rows on PostgreSQL and before the other forges, other ways to the door of assistants, and variants. */
  matrix: {
    ...own,
    include: mode === "matrix" ? ofManyRows() : [],
    env: { REINS_TEST_ROWS: "others" },
    testNamePattern: /PostgreSQL|gitlab|gitea|in the protocol of|variants/
  },

  /** Whole servers that are killed, loaded and misled, for longer than a row of `npm test` may take. */
  servers: { ...own, include: ofServers, exclude: ["**/node_modules/**"] },

  /** Turns of the real agents of alpha and beta, which cost seconds of a processor each. */
  agents: { ...own, include: ["packages/{core,server}/agents/**/*.test.ts"] },

  /** Breaks real servers on purpose: first files that run beside each other, then those that want the machine for themselves. */
  chaos: {
    globalSetup: prepared,
    pool: "forks",
    poolOptions: { forks: { maxForks: 3 } },
    sequence: { sequencer: sorting(longestFirst, "packages/server/chaos") },
    projects: [
      breaking("beside", { include: ["packages/server/chaos/**/*.test.ts"], exclude: [alone] }),
      breaking("alone", { include: [alone], poolOptions: { forks: { singleFork: true } } })
    ]
  },

  /** Several published servers on one PostgreSQL, each with a data directory of its own, as machines have them. */
  cluster: {
    globalSetup: prepared,
    include: ["packages/server/cluster/*.test.ts"],
    pool: "forks",
    poolOptions: { forks: { maxForks: 2 } },
    testTimeout: 300_000,
    hookTimeout: 120_000
  },

  /** Three machines with a network of their own, and what goes wrong with one of them. `scripts/cluster.mjs` makes the place for it. */
  faults: {
    globalSetup: ["./scripts/client.mjs"],
    include: ["packages/server/cluster/faults/**/*.test.ts"],
    pool: "forks",
    poolOptions: { forks: { maxForks: 3 } },
    testTimeout: 600_000,
    hookTimeout: 120_000
  },

  /** The console in Chromium, on published servers with the scripted gateway. Two files run side by side, each with a server and a browser. */
  console: {
    include: ["packages/console/test/**/*.test.ts"],
    globalSetup: ["./scripts/client.mjs"],
    testTimeout: 600_000,
    hookTimeout: 120_000,
    pool: "forks",
    poolOptions: { forks: { minForks: 1, maxForks: 2 } }
  },

  /**
   * The suites of the executors, for the user without rights that the chaos suite makes, because containers are not run as root. That user
   * cannot write to the repository, so nothing is made before.
   */
  container: {
    include: ["packages/core/test/executor/Executors.test.ts", "packages/core/test/executor/Container.test.ts"],
    setupFiles: effectMethods,
    testTimeout: 300_000,
    pool: "forks"
  },

  /** Readers of the documentation who run every block of it, each with a server, forges and the real agent of their own. */
  docs: { include: ["packages/server/guides/**/*.test.ts"], setupFiles: effectMethods, pool: "forks" },

  /** The document before the tools that people use it with. `npm run test:document` installs them. */
  document: { ...own, include: ["packages/server/document/**/*.test.ts"] },

  /** The door of assistants before the programs of its protocol. `npm run test:conformance` installs them. */
  conformance: {
    include: ["packages/server/conformance/*.test.ts"],
    globalSetup: ["./scripts/client.mjs"],
    testTimeout: 300_000,
    hookTimeout: 120_000,
    pool: "forks"
  },

  /** The packages as others install them. `npm run test:packages` makes the build and installs the tools. */
  packages: {
    include: ["packages/server/published/*.test.ts"],
    globalSetup: ["packages/server/published/Setup.ts"],
    setupFiles: effectMethods,
    testTimeout: 300_000,
    hookTimeout: 120_000,
    pool: "forks",
    poolOptions: { forks: { minForks: 2, maxForks: 2 } }
  },

  /** Programs of others that drive `reins acp`, with the real agent of alpha. `scripts/editors.mjs` installs them. */
  editors: { include: ["packages/server/editors/*.test.ts"], testTimeout: 300_000, pool: "forks" },

  /** The built client in every runtime that it is made for. It needs Chromium, and programs that `scripts/runtimes.mjs` installs. */
  runtimes: { include: ["packages/client/runtimes/*.test.ts"], ...patient, pool: "forks" }
})

export default defineConfig(({ mode }) => {
  const suites = suitesOf(mode)
  const test = suites[mode]
  if (test === undefined) throw new Error(`There is no suite "${mode}": ${Object.keys(suites).join(", ")}`)
  return { ...sources, test, ...(mode === "container" ? { cacheDir: process.env["HOME"] ?? "/tmp" } : {}) }
})
