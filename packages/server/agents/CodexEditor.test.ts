import { testExecutor } from "@reins/testing/executor/TestExecutor"
import { newCaller } from "@reins/testing/process/Caller"
import { inHome, placeForFile } from "@reins/testing/process/Place"
import { startServer } from "@reins/testing/process/ServerProcess"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, it } from "vitest"
import { makeProject } from "../test/cli/Cli.js"
import { endEditors, saidIn, withSessionAt } from "../test/doors/Editor.js"

const place = placeForFile(inHome)
afterAll(endEditors)

it("an editor that chooses Codex gets one of the two models that its gateway lists, and the real agent answers", async () => {
  const { dataDir, directory, gateway } = place
  const env = { REINS_EXECUTOR: testExecutor, REINS_ALLOW_LOCAL_REPOSITORIES: "true" }
  const server = await startServer({ dataDir, env })
  const { apiKey } = await newCaller(server, dataDir, gateway, env)
  const project = makeProject(directory)
  const { editor, made, prompt } = await withSessionAt(
    { cwd: project.folder, env: { REINS_URL: server.url, REINS_API_KEY: apiKey } },
    { args: ["--agent", "codex", "--mode", "auto"] }
  )
  const model = made.configOptions?.find(({ id }) => id === "model")
  assert.isDefined(model, JSON.stringify(made))
  assert.include(["scripted-1", "scripted-2"], model?.currentValue)
  const { stopReason } = await prompt(
    script("Make it.", { say: "I make it.", tool: "bash", cmd: "echo 1 > made.txt" }, { say: "It is made." })
  )
  assert.strictEqual(stopReason, "end_turn", editor.errors())
  assert.include(saidIn(editor.updates), "It is made.")
  await editor.close()
})
