import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { storedProfile, storeProfile, target } from "@reins/cli/client/Profile"
import { Effect } from "effect"
import { afterEach, assert, beforeEach, it, vi } from "vitest"

let directory = ""
const profile = { url: "http://127.0.0.1:7117", api_key: "rk_stored" }

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "reins-profile-"))
  vi.stubEnv("XDG_CONFIG_HOME", directory)
  vi.stubEnv("REINS_URL", "")
  vi.stubEnv("REINS_API_KEY", "")
})

afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(directory, { recursive: true, force: true })
})

it("is for its user alone, also in the place of a file that others could read", () => {
  const file = Effect.runSync(storeProfile(profile))
  assert.strictEqual(statSync(file).mode & 0o777, 0o600)
  rmSync(file)
  writeFileSync(file, "{}", { mode: 0o644 })
  assert.isUndefined(storedProfile())
  Effect.runSync(storeProfile(profile))
  assert.strictEqual(statSync(file).mode & 0o777, 0o600)
  assert.deepStrictEqual(storedProfile(), profile)
})

it("gives its key to its own server alone, and the environment wins", () => {
  assert.deepStrictEqual(target(), { url: undefined, apiKey: undefined, isExplicit: false })
  Effect.runSync(storeProfile(profile))
  assert.deepStrictEqual(target(), { url: profile.url, apiKey: "rk_stored", isExplicit: false })
  assert.deepStrictEqual(target(`${profile.url}/`), { url: profile.url, apiKey: "rk_stored", isExplicit: true })
  vi.stubEnv("REINS_URL", "https://elsewhere.example")
  assert.deepStrictEqual(target(), { url: "https://elsewhere.example", apiKey: undefined, isExplicit: true })
  vi.stubEnv("REINS_API_KEY", "rk_environment")
  assert.strictEqual(target().apiKey, "rk_environment")
})

it("says where it cannot be stored", () => {
  writeFileSync(join(directory, "file"), "")
  vi.stubEnv("XDG_CONFIG_HOME", join(directory, "file"))
  const { message } = Effect.runSync(Effect.flip(storeProfile(profile)))
  assert.match(message, /^The profile cannot be stored in \S+profile\.json \(.+\)\. Set XDG_CONFIG_HOME to .+\.$/)
})
