import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { choiceFor, choicesFile, keepChoice } from "@reins/cli/client/Choices"
import { afterEach, assert, beforeEach, it, vi } from "vitest"

let directory = ""
const shop = { server: "http://127.0.0.1:7117", repository: "https://git.example/acme/shop.git" }

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "reins-choices-"))
  vi.stubEnv("XDG_STATE_HOME", directory)
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(directory, { recursive: true, force: true })
})

it("are kept for each repository of each server, with a model for each provider", () => {
  keepChoice(shop, { agent: "beta", provider: "beta", model: "gpt-5" })
  keepChoice(shop, { provider: "alpha", model: "small" })
  keepChoice({ ...shop, repository: "/srv/other" }, { provider: "alpha", model: "large" })
  assert.deepInclude(choiceFor(shop), { agent: "beta", models: { beta: "gpt-5", alpha: "small" } })
  assert.deepInclude(choiceFor({ ...shop, repository: "/srv/other" }), { agent: null, models: { alpha: "large" } })
  assert.isUndefined(choiceFor({ ...shop, server: "https://elsewhere.example" }))
  keepChoice(shop, { agent: "alpha" })
  assert.deepInclude(choiceFor(shop), { agent: "alpha", models: { beta: "gpt-5", alpha: "small" } })
})

it("are for their user alone, in the place of a file that others could read or that cannot be read", () => {
  const file = choicesFile() ?? assert.fail("there is a directory for it")
  mkdirSync(dirname(file))
  writeFileSync(file, "{", { mode: 0o644 })
  assert.isUndefined(choiceFor(shop))
  keepChoice(shop, { agent: "alpha" })
  assert.strictEqual(statSync(file).mode & 0o777, 0o600)
  assert.deepInclude(choiceFor(shop), { agent: "alpha" })
})

it("stay beside those of another release that cannot be read", () => {
  keepChoice(shop, { agent: "alpha" })
  const file = choicesFile() ?? assert.fail("there is a directory for it")
  const { choices } = JSON.parse(readFileSync(file, "utf8"))
  writeFileSync(file, JSON.stringify({ choices: [null, { server: 1 }, ...choices] }))
  assert.deepInclude(choiceFor(shop), { agent: "alpha" })
})

it("do not grow without an end: those of 200 repositories stay, the newest", () => {
  for (let each = 0; each < 203; each++) keepChoice({ ...shop, repository: `/srv/${each}` }, { agent: "alpha" })
  assert.lengthOf(JSON.parse(readFileSync(choicesFile() ?? "", "utf8")).choices, 200)
  assert.isUndefined(choiceFor({ ...shop, repository: "/srv/2" }))
  assert.isDefined(choiceFor({ ...shop, repository: "/srv/3" }))
})

it("are left out where they cannot be kept", () => {
  writeFileSync(join(directory, "file"), "")
  vi.stubEnv("XDG_STATE_HOME", join(directory, "file"))
  keepChoice(shop, { agent: "alpha" })
  assert.isUndefined(choiceFor(shop))
})
