/**
 * The floors of the core, from the ground up. A room needs rooms of lower floors only; the files beside the rooms, which put them together, need
 * all of them. `docs/architecture.md` says what each room is for.
 */
const floors = [
  ["domain"],
  ["base"],
  ["secrets"],
  ["store", "outbound", "files"],
  ["access", "placement", "repository", "subjects", "budgets"],
  ["events", "jobs", "executor", "forge", "capture"],
  ["harness", "identity", "git"],
  ["grants"],
  ["connections", "oauth", "relay"],
  ["agents", "catalog", "projects", "logins"],
  ["bench"],
  ["sessions", "webhooks"],
  ["worktrees", "tools", "hooks", "push", "work", "traces"],
  ["artifacts", "changes", "mcp"],
  ["deliveries"],
  ["requests"],
  ["care"],
  ["execution", "delegations", "automations", "exports", "shares"],
  ["backup", "deletion", "upkeep"]
]

const core = "^packages/(?:base|machine|core)/src/"

/** The rooms that touch the machine of sessions. `agents` and `executor` still know of connections and of the placement. */
const machine = [
  "bench",
  "agents",
  "relay",
  "harness",
  "subjects",
  "executor",
  "outbound",
  "files",
  "git",
  "capture",
  "repository"
]

/** The rooms that reach the machine of sessions by the bench alone, and the files of its port. */
const aboveBench = floors.slice(1 + floors.findIndex((rooms) => rooms.includes("bench"))).flat()
const portOfBench = [
  "Bench",
  "Agents",
  "AgentOrder",
  "Changes",
  "Disk",
  "FileLocks",
  "TreeOrder",
  "setup/SetupReport",
  "snapshots/(SnapshotManifest|TreeSnapshots)"
]

/** `$1` is the room itself. */
const downwards = floors.map((rooms, index) => ({
  name: `floor-${index}-${rooms.join("-")}`,
  comment: "a room of the core needs rooms of lower floors only, for types too",
  severity: "error",
  from: { path: `${core}(${rooms.join("|")})/` },
  to: { path: core, pathNot: `${core}(?:${["$1", ...floors.slice(0, index).flat()].join("|")})/` }
}))

/** The direction of the code: domain <- api <- core services <- server; the client is made from the document of the server, and the cli calls it. */
module.exports = {
  forbidden: [
    ...downwards,
    {
      name: "every-room-has-a-floor",
      severity: "error",
      from: { path: `${core}[^/]+/`, pathNot: `${core}(?:${floors.flat().join("|")})/` },
      to: {}
    },
    {
      name: "the-machine-knows-no-rows",
      comment:
        "a bench and the rooms below it work on data that they are given, so that they can run in another process",
      severity: "error",
      from: { path: `${core}(${machine.join("|")})/` },
      to: { path: `${core}(store|jobs|placement|connections)/` }
    },
    {
      name: "only-the-bench-knows-the-files-of-sessions",
      comment:
        "rooms above it see its port: verbs over plain data. A backup also copies the data directory of its node",
      severity: "error",
      from: { path: `${core}(${aboveBench.join("|")})/`, pathNot: `${core}backup/` },
      to: { path: `${core}bench/`, pathNot: `${core}bench/(${portOfBench.join("|")}).ts$` }
    },
    {
      name: "no-disk-above-the-bench",
      comment:
        "whoever needs a file of a session asks the bench. The locks between processes are files of this machine",
      severity: "error",
      from: {
        path: `${core}(${aboveBench.join("|")})/`,
        pathNot: [`${core}backup/`, `${core}worktrees/SessionLock.ts$`]
      },
      to: { path: "^(node:)?(fs|child_process)(/|$)" }
    },
    {
      name: "no-cycles",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } }
    },
    {
      name: "no-cycles-of-types",
      comment: "of two files that need each other, nobody reads one alone",
      severity: "error",
      from: { path: "^packages/(base|machine|core|cli|server)/src/" },
      to: { circular: true }
    },
    {
      name: "domain-is-pure",
      comment: "domain holds data: it imports effect and itself, nothing else",
      severity: "error",
      from: { path: "^packages/base/src/domain/" },
      to: {
        pathNot: [
          "^packages/base/src/domain/",
          "node_modules/effect/",
          "node_modules/@effect/platform/",
          "node_modules/typeid-js/"
        ]
      }
    },
    {
      name: "only-store-names-a-driver",
      severity: "error",
      from: { path: "^packages/[^/]+/src/", pathNot: "^packages/(core/src/store|testing)/" },
      to: { path: ["node_modules/(@effect/sql-(pg|sqlite-node)|better-sqlite3|pg)/"] }
    },
    {
      name: "only-main-picks-layers",
      comment: "which database, placement and platform run is decided in main",
      severity: "error",
      from: {
        path: "^packages/(base|machine|core|server)/src/",
        pathNot: ["^packages/server/src/(main|cli/)", "^packages/core/src/(store/|Embedded)"]
      },
      to: { path: "^packages/core/src/store/(Sqlite|Postgres)" }
    },
    {
      name: "embedding-loads-no-contract",
      comment: "the library that describes endpoints costs a program that embeds the core a fifth of its start",
      severity: "error",
      from: { path: `${core}(Core|Embedded|Layers|Parts|Rooms|Worker|index)\\.ts$` },
      to: { path: `${core}(Api|Contracts|OperationErrors)\\.ts$` }
    },
    {
      name: "products-know-no-fixtures",
      comment: "packages/testing is for tests alone: nothing that is published may need it",
      severity: "error",
      from: { path: "^packages/(base|machine|core|client|cli|console|server)/src/" },
      to: { path: "^packages/testing/" }
    },
    {
      name: "core-knows-no-server",
      severity: "error",
      from: { path: "^packages/(base|machine|core)/" },
      to: { path: "^packages/(server|client|cli)/" }
    },
    {
      name: "base-stands-alone",
      comment: "it tells the version that all packages have, and nothing else of the packages above it",
      severity: "error",
      from: { path: "^packages/base/" },
      to: { path: "^packages/", pathNot: "^packages/(base/|core/package.json$)" }
    },
    {
      name: "the-machine-knows-the-base-alone",
      comment: "it runs where no database is",
      severity: "error",
      from: { path: "^packages/machine/" },
      to: { path: "^packages/", pathNot: "^packages/(base|machine)/" }
    },
    {
      name: "the-cli-is-a-client",
      comment: "its commands ask a server, perhaps one of another machine and release, and know no core",
      severity: "error",
      from: { path: "^packages/cli/" },
      to: { path: "^packages/", pathNot: ["^packages/(cli|base)/", "^packages/client/src/index.ts$"] }
    },
    {
      name: "only-the-command-line-calls-the-client",
      comment: "the server itself asks the core",
      severity: "error",
      from: { path: "^packages/server/src/", pathNot: "^packages/server/src/(cli/|doors/|Program.ts$)" },
      to: { path: "^packages/(client|cli)/" }
    },
    {
      name: "doors-are-clients",
      comment: "a door adds no rule of its own, so it needs the client and the package of its protocol alone",
      severity: "error",
      from: { path: "^packages/server/src/doors/" },
      to: { path: "^packages/", pathNot: "^packages/(client/src/index.ts$|server/src/doors/)" }
    },
    {
      name: "client-is-made-from-the-document",
      comment: "what is generated holds all that the client needs of the contract",
      severity: "error",
      from: { path: "^packages/client/src/" },
      to: { path: "^packages/(base|machine|core|cli|server)/" }
    },
    {
      name: "console-knows-the-client-alone",
      comment: "the page is a client like any other, and nothing of the server gets into a browser",
      severity: "error",
      from: { path: "^packages/console/src/" },
      to: {
        pathNot: [
          "^packages/console/src/",
          "^packages/client/src/index.ts$",
          "node_modules/(preact|@preact/signals|diff|diff2html|highlight.js|lowlight|marked)/"
        ]
      }
    },
    {
      name: "promises-without-effect",
      comment: "the promise entry has no dependency, for types too",
      severity: "error",
      from: { path: "^packages/client/src/(?!effect/)" },
      to: { path: "^(packages/client/src/effect/|node_modules/)" }
    }
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(dist|dist-failpoints|dist-next|server/console|test|chaos)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.base.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@reins/source", "import", "types", "default"],
      extensions: [".ts", ".tsx", ".mjs", ".js", ".json"]
    }
  }
}
