#!/usr/bin/env node
// Runs suites with the full volume of every random, statistical or long test: `npm run soak [-- --minutes 60]`. The random kills and
// the event storms go on for so many minutes more. It needs what the chaos suite and that of
// several machines need, Docker, device files, and about two hours.
import { parseArgs } from "node:util"
import { ofChaos, ofCluster, ofDocker, requireNeeds } from "./needs.mjs"
import { endWith, suite } from "./suites.mjs"

const { values } = parseArgs({ options: { minutes: { type: "string", default: "0" } } })
const minutes = Number(values.minutes)
if (!Number.isFinite(minutes) || minutes < 0) {
  process.stderr.write("--minutes has to be a number, as in: npm run soak -- --minutes 60\n")
  process.exit(2)
}
requireNeeds("The soak", [...new Set([...ofChaos, ...ofCluster, ...ofDocker])])

const env = {
  REINS_SOAK: "1",
  REINS_SOAK_MINUTES: String(minutes),
  REINS_TEST_DEVICES: "required"
}

endWith([
  await suite("tests", [process.execPath, "scripts/test.mjs"], env),
  await suite("tests on Node 24", [process.execPath, "scripts/nodes.mjs", "24", "npm", "test", "--silent"], {}),
  await suite("several machines", [process.execPath, "scripts/cluster.mjs"], env),
  await suite("real servers, broken on purpose", [process.execPath, "scripts/chaos.mjs"], env),
  await suite(
    "containers of Docker",
    [process.execPath, "scripts/chaos.mjs", "packages/server/chaos/sandbox/Container.test.ts"],
    { ...env, REINS_TEST_CONTAINER_ENGINE: "docker" }
  )
])
