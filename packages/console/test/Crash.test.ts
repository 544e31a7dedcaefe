import { picture } from "@reins/testing/browser/Browser"
import { startServer } from "@reins/testing/process/ServerProcess"
import { endless } from "@reins/testing/process/Turns"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { describe, it } from "vitest"
import { worldForFile } from "./World.js"

const world = worldForFile()

describe("the console and a killed server", () => {
  it("tells in words what a killed server has left behind, and goes on after the acknowledgement", async () => {
    const caller = await world.caller()
    const session = await caller.newSession(caller.at(world.server))
    const page = await world.loggedIn(`sessions/${session}`)
    await page.getByLabel("Message").fill(endless())
    await page.keyboard.press("Control+Enter")
    await page.locator("summary", { hasText: "echo begun" }).waitFor()
    const { port } = new URL(world.server.url)
    world.server.kill("SIGKILL")
    await world.server.ended
    await page.getByRole("alert").first().waitFor()
    await picture(page, "server-away")
    await startServer({ dataDir: world.place.dataDir, env: world.env, args: ["--port", port] })
    await page.getByRole("button", { name: "Acknowledge" }).waitFor()
    await page.getByText(/The queue waits until you have looked/).waitFor()
    await page.getByRole("alert").waitFor({ state: "detached" })
    await picture(page, "interrupted")
    await page.getByRole("button", { name: "Acknowledge" }).click()
    await page.getByRole("button", { name: "Acknowledge" }).waitFor({ state: "detached" })
    await page.getByLabel("Message").fill(script("Go on.", { say: "Here I am again." }))
    await page.getByRole("button", { name: "Send" }).click()
    await page.getByText("Here I am again.", { exact: true }).waitFor()
  })
})
