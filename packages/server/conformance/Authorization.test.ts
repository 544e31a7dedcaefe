import { Server } from "@reins/server/Server"
import { password } from "@reins/testing/process/Caller"
import { steadyPort } from "@reins/testing/process/Ports"
import { Effect } from "effect"
import { assert, it } from "vitest"
import { decide, loggedIn, register } from "../test/doors/OauthPerson.js"
import { isUnmet, nameOf, runSuite } from "./Checks.js"
import { installationForFile } from "./Installation.js"

const installation = installationForFile()

it("an app of the conformance suite logs in, and finds every check met", async () => {
  const { directory, url } = installation()
  const here = <A, E>(effect: Effect.Effect<A, E, Server>): Promise<A> =>
    Effect.runPromise(Effect.provideService(effect, Server, { url }))
  const port = await steadyPort()
  const { clientId } = await here(register({ redirect_uris: [`http://127.0.0.1:${port}/callback`] }))
  const person = await here(loggedIn("owner@example.com", password))

  /** The person opens the address that the program prints, and allows it. */
  let output = ""
  let landed: Promise<unknown> | undefined
  const onOutput = (text: string) => {
    output += text
    const query = /\/oauth\/authorize\?(\S+)\n/.exec(output)?.[1]
    if (query === undefined || landed !== undefined || !output.includes("Callback server started")) return
    landed = here(decide(person, query)).then(({ location }) => fetch(location ?? ""))
  }
  const args = ["authorization", "--url", url, "--client-id", clientId, "--resource", `${url}/mcp`]
  const checks = await runSuite({ directory, name: "authorization" }, [...args, "--port", String(port)], {
    onOutput
  })
  await landed
  const unmet = checks.filter(isUnmet).map((check) => `${nameOf(check)}: ${check.errorMessage ?? ""}`)
  assert.deepStrictEqual(unmet, [], output)
  const met = new Set(checks.filter(({ status }) => status === "SUCCESS").map(({ scenario }) => scenario))
  assert.sameMembers([...met], ["authorization-server-metadata-endpoint", "authorization-code-grant"], output)
})
