#!/usr/bin/env node
// Runs every suite, with the full volume of every random, statistical or long test, as once in a night: `npm run soak [-- --minutes 60]`. The
// random kills and the event storms go on for so many minutes more. It needs what the chaos suite and that of several machines need, Docker,
// device files, and about three hours.
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

const script = (name) => ["npm", "run", "--silent", name]
const inSandbox = { REINS_TEST_SANDBOX: "required", REINS_TEST_EXECUTOR: "bubblewrap" }

endWith([
  await suite("tests, with all rows of the matrix", [process.execPath, "scripts/test.mjs"], env),
  await suite("whole servers", [process.execPath, "scripts/test.mjs", "--mode", "servers"], env),
  await suite("turns of the real agents", script("test:agents"), {}),
  await suite("turns of the real agents, in the sandbox", script("test:agents"), inSandbox),
  await suite("the editors of others", script("test:editors"), {}),
  await suite("the console", script("test:console"), {}),
  await suite("the client in every runtime", script("test:runtimes"), {}),
  await suite("the document", script("test:document"), {}),
  await suite("the door of assistants", script("test:conformance"), {}),
  await suite("the documentation", script("test:docs"), {}),
  await suite("the packages", script("test:packages"), env),
  await suite("tests on Node 24", [process.execPath, "scripts/nodes.mjs", "24", "npm", "test", "--silent"], {}),
  await suite("the matrix on Node 24", [process.execPath, "scripts/nodes.mjs", "24", ...script("test:matrix")], {}),
  await suite("several machines", [process.execPath, "scripts/cluster.mjs"], env),
  await suite("real servers, broken on purpose", [process.execPath, "scripts/chaos.mjs"], env),
  await suite(
    "containers of Docker",
    [process.execPath, "scripts/chaos.mjs", "packages/server/chaos/sandbox/Container.test.ts"],
    { ...env, REINS_TEST_CONTAINER_ENGINE: "docker" }
  )
])
