import { FiberRef, GlobalValue } from "effect"

// The variables of the environment that git processes get.

/** Settings as variables of the environment, for those that are secret: a command line can be read by everybody. */
export const settingsEnv = (given: Readonly<Record<string, string>>): Record<string, string> => {
  const pairs = Object.entries(given).map(([name, value], index) => ({
    [`GIT_CONFIG_KEY_${index}`]: name,
    [`GIT_CONFIG_VALUE_${index}`]: value
  }))
  return Object.assign({ GIT_CONFIG_COUNT: String(pairs.length) }, ...pairs)
}

/** Variables that every git process of the running method carries. By them the next start of the service finds a process that was left behind. */
export const processMarks = GlobalValue.globalValue("@reins/core/workspace/processMarks", () =>
  FiberRef.unsafeMake<Readonly<Record<string, string>>>({})
)
