import { assert } from "vitest"
import { newName, say } from "../Scenes.js"
import type { Row } from "./Row.js"

/** The API comes back before the time has come, so the kill is in the work of the job alone. */
const soonMs = 1_500

export const occurrenceRunsOnce: Row = {
  rule: "a time that was due has one run with one session, whose turn ends once",
  play: async (installation, crash) => {
    const { api, workspaceId: workspace_id } = installation
    const title = newName("Automated")
    const { id: automation_id } = await crash(() =>
      api.automations.create({
        workspace_id,
        name: title,
        trigger: { kind: "once", at: new Date(Date.now() + soonMs).toISOString() },
        target: {
          kind: "new_session",
          message: say("I looked."),
          harness: { provider_id: "alpha", model: "scripted-1" }
        }
      })
    )
    const runs = async () => (await api.automations.listRuns({ automation_id })).items
    await installation.until(async () => (await runs())[0]?.finished_at != null, "the run to end")
    const [run, ...others] = await runs()
    assert.lengthOf(others, 0)
    assert.deepInclude(run, { kind: "once", state: "succeeded", reason: null })
    const { items } = await api.sessions.list({ workspace_id, limit: 200 })
    assert.deepStrictEqual(
      items.filter((session) => session.title === title).map(({ id }) => id),
      [run?.session_id]
    )
    const turns = await api.turns.list({ session_id: run?.session_id ?? "" })
    assert.deepStrictEqual(
      turns.items.map(({ state }) => state),
      ["succeeded"]
    )
    assert.strictEqual((await api.automations.get({ automation_id })).state, "done")
  }
}
