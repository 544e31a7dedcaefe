import { spawnSync } from "node:child_process"
import { chmodSync } from "node:fs"
import { join } from "node:path"
import { placeForEachTest } from "@reins/testing/process/Place"
import { afterAll, assert, beforeAll, it } from "vitest"
import { type PodmanPlace, podmanPlace } from "../../../../scripts/podman.mjs"
import { escapesOn } from "./Escapes.js"

const place = placeForEachTest()

let engine: PodmanPlace
beforeAll(() => {
  engine = podmanPlace()
})
afterAll(() => engine.remove())

/** The server of the user without rights, with the engine and the image. */
const contained = (env: Readonly<Record<string, string>> = {}) => {
  chmodSync(place.directory, 0o755)
  return {
    launcher: engine.launcher,
    env: { ...engine.env, REINS_EXECUTOR: "container", REINS_CONTAINER_IMAGE: engine.image, ...env }
  }
}

it("no attempt gets out of a container, and nothing that it leaves behind does anything afterwards", async () => {
  const { count, misled, out, survived } = await escapesOn(place, {
    executor: "container",
    options: contained(),
    user: engine
  })
  assert.isAtLeast(count, 200)
  assert.deepStrictEqual([out, survived, misled], [[], [], []])
  process.stdout.write(`container: ${count} attempts, 0 got out\n`)
})

it("the suite of the port holds in containers", () => {
  const words = ["run", "--configLoader", "runner", "--config", "vitest.container.config.ts"]
  const [program = "", ...args] = [...engine.launcher, process.execPath, "node_modules/vitest/vitest.mjs", ...words]
  const { status, stderr, stdout } = spawnSync(program, args, {
    cwd: join(import.meta.dirname, "../../../.."),
    env: { ...process.env, ...engine.env, REINS_TEST_CONTAINER_IMAGE: engine.image, VITEST: "" },
    encoding: "utf8"
  })
  assert.strictEqual(status, 0, stdout + stderr)
})
