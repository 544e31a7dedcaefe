#!/usr/bin/env node
// Runs the suite of several machines: `npm run test:cluster [-- --full] [-- file ...]`. First several servers on one network, then three machines
// with networks of their own, and everything that can go wrong with one of them. `--full` runs all cells of that; `npm run soak` does too. Options
// of vitest, as `--shard=1/3`, are for both.
import { buildNext, buildWithFailpoints } from "./builds.mjs"
import { ofCluster, requireNeeds } from "./needs.mjs"
import { endWith, suite } from "./suites.mjs"

const given = process.argv.slice(2)
const isFull = given.includes("--full")
const options = given.filter((each) => each.startsWith("--") && each !== "--full")
const files = given.filter((each) => !each.startsWith("--"))
const isOfFaults = (file) => file.includes("faults")
const isWanted = (isPart) => files.length === 0 || files.some(isPart)

requireNeeds("The suite of several machines", ofCluster)

const words = (mode, isPart) => [
  ...[process.execPath, "scripts/test.mjs", "--mode", mode],
  ...options,
  ...files.filter(isPart)
]

/**
 * Namespaces for the tests alone: a network in which they stand at the bridge, mounts, and processes that end with them, also when they are killed.
 */
const apart = (command) => [
  ...["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c"],
  'ip link set lo up && mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns && exec "$@"',
  ...["sh", ...command]
]

const suites = []
if (isWanted((file) => !isOfFaults(file))) {
  buildNext()
  suites.push(
    await suite(
      "several machines",
      words("cluster", (file) => !isOfFaults(file))
    )
  )
}
if (isWanted(isOfFaults)) {
  buildWithFailpoints()
  const command = apart(words("faults", isOfFaults))
  suites.push(await suite("what goes wrong with one of three", command, isFull ? { REINS_SOAK: "1" } : {}))
}
endWith(suites)
