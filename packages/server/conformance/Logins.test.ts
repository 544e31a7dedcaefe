import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { isUnmet, nameOf, runSuite } from "./Checks.js"
import { installationForFile } from "./Installation.js"

// The name that the suite expects in the client ID document.
const installation = installationForFile("https://conformance-test.local")

/** The scenarios of the suite in which a client logs in, by the revision that they belong to. */
const scenarios: Readonly<Record<string, ReadonlyArray<string>>> = {
  "2026-07-28": [
    "metadata-default",
    "metadata-var1",
    "metadata-var2",
    "metadata-var3",
    "basic-cimd",
    "scope-from-www-authenticate",
    "scope-from-scopes-supported",
    "scope-omitted-when-undefined",
    "token-endpoint-auth-basic",
    "token-endpoint-auth-post",
    "token-endpoint-auth-none",
    "pre-registration",
    "resource-mismatch",
    "offline-access-scope",
    "offline-access-not-supported",
    "iss-supported",
    "iss-not-advertised",
    "iss-supported-missing",
    "iss-wrong-issuer",
    "iss-unexpected",
    "iss-normalized",
    "metadata-issuer-mismatch"
  ],
  "2025-03-26": ["2025-03-26-oauth-metadata-backcompat"]
}

/** Checks that are not met, and why they need not be. */
const notMet: Readonly<Record<string, string>> = {
  // It compares with an address of its own. That of this installation is an address too: `/oauth/client.json`.
  "auth/basic-cimd/cimd-client-id-used": "https://conformance-test.local/oauth/client.json"
}

const node = process.execPath
const program = join(import.meta.dirname, "LoginProgram.mjs")

describe("Reins logs in to servers of the conformance suite", () => {
  for (const [revision, names] of Object.entries(scenarios))
    for (const name of names)
      it(`${name}, ${revision}`, async () => {
        const { caller, directory, url } = installation()
        const env = { REINS_URL: url, REINS_API_KEY: caller.apiKey, REINS_WORKSPACE: caller.workspaceId }
        const args = ["client", "--scenario", `auth/${name}`, "--spec-version", revision, "--timeout", "120000"]
        const said: Array<string> = []
        const checks = await runSuite(
          { directory, name: `${revision}-${name}` },
          [...args, "--command", `${node} ${program}`],
          { env, onOutput: (text) => void said.push(text) }
        )
        const faults = checks.filter((check) => isUnmet(check) && !Object.hasOwn(notMet, nameOf(check)))
        assert.deepStrictEqual(
          faults.map((check) => `${nameOf(check)}: ${check.errorMessage ?? JSON.stringify(check)}`),
          [],
          said.join("")
        )
        assert.isTrue(
          checks.some(({ status }) => status === "SUCCESS"),
          said.join("")
        )
      })
})
