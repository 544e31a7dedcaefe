/** The direction of the code: domain <- api <- core services <- server; the client takes domain and api only. */
module.exports = {
  forbidden: [
    {
      name: "no-cycles",
      severity: "error",
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } }
    },
    {
      name: "domain-is-pure",
      comment: "domain holds data: it imports effect and itself, nothing else",
      severity: "error",
      from: { path: "^packages/core/src/domain/" },
      to: { pathNot: ["^packages/core/src/domain/", "node_modules/effect/", "node_modules/typeid-js/"] }
    },
    {
      name: "api-is-pure",
      comment: "the contract is data: domain and @effect/platform only",
      severity: "error",
      from: { path: "^packages/core/src/api/" },
      to: { pathNot: ["^packages/core/src/(api|domain)/", "node_modules/effect/", "node_modules/@effect/platform/"] }
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
        path: "^packages/(core|server)/src/",
        pathNot: ["^packages/server/src/(main|cli/)", "^packages/core/src/(store/|Embedded)"]
      },
      to: { path: "^packages/core/src/store/(Sqlite|Postgres)" }
    },
    {
      name: "products-know-no-fixtures",
      comment: "packages/testing is for tests alone: nothing that is published may need it",
      severity: "error",
      from: { path: "^packages/(core|client|server)/src/" },
      to: { path: "^packages/testing/" }
    },
    {
      name: "core-knows-no-server",
      severity: "error",
      from: { path: "^packages/core/" },
      to: { path: "^packages/(server|client)/" }
    },
    {
      name: "client-takes-domain-and-api",
      severity: "error",
      from: { path: "^packages/client/src/" },
      to: { path: "^packages/(core/src/(?!domain/|api/)|server/)" }
    }
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)(dist|dist-failpoints|test|chaos)/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.base.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["@reins/source", "import", "types", "default"],
      extensions: [".ts", ".mjs", ".js", ".json"]
    }
  }
}
