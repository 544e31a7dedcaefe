// The sets of tests that run in virtual machines, each in one of its own.

/** The files of this machine. */
const ofThisMachine = () => [{ at: "/", from: ["/"] }]

export const sets = {
  limits: {
    architecture: "amd64",
    files: ["packages/server/vm/Limits.test.ts"],
    layers: ofThisMachine,
    seconds: 900
  },
  sandbox: {
    architecture: "amd64",
    files: [
      "packages/core/test/executor/Executors.test.ts",
      "packages/core/test/executor/Bubblewrap.test.ts",
      "packages/server/chaos/sandbox/Escapes.test.ts"
    ],
    layers: ofThisMachine,
    before: "export REINS_TEST_SANDBOX=required",
    seconds: 1800
  }
}
