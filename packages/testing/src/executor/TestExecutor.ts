/** The executor of tests that hold on each of them: `local`, or the one that `REINS_TEST_EXECUTOR` names. */
export const testExecutor: "bubblewrap" | "local" =
  process.env["REINS_TEST_EXECUTOR"] === "bubblewrap" ? "bubblewrap" : "local"
