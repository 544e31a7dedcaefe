// For tests that are bundled already (scripts/vm/bundle.mjs), in a virtual machine.
export default {
  test: {
    exclude: [],
    include: [".cache/vm/tests/*/*.test.mjs"],
    testTimeout: 2_400_000,
    hookTimeout: 600_000,
    pool: "forks",
    isolate: false,
    // What tests share is loaded as it is.
    server: { deps: { external: [/\/vm\/tests\/\w+\/files\//] } },
    poolOptions: { forks: { singleFork: true } }
  }
}
