import { assert } from "vitest"
import { delivered, newName, script } from "../Scenes.js"
import type { Row } from "./Row.js"

export const redCheckHasOneTurn: Row = {
  rule: "a red check has one turn, one commit and one comment",
  play: async (installation, crash) => {
    const { api, origin } = installation
    const delivery = await delivered(installation)
    const before = delivery.commit ?? ""
    const opened = await api.deliveries.openMergeRequest({
      delivery_id: delivery.id,
      title: newName("Request"),
      draft: false,
      care: { checks: "fix", rerun_first: false }
    })
    await api.jobs.wait({ job_id: opened.operation.job_id })
    const merge_request_id = opened.merge_request.id
    const content = newName("Mended")
    // The scripted model does what its prompt holds last, which is the log.
    const log = `red ${script([{ tool: "write", path: "mended.txt", content }, { say: "Mended." }])}`
    origin.forge.check({ head: before, name: "test", state: "failed", log })
    const attentions = async () => (await api.care.listAttentions({ merge_request_id })).items
    const comments = (commit: string) => origin.forge.comments.filter(({ body }) => body.includes(commit))
    await crash(async () => {
      await api.mergeRequests.look({ merge_request_id })
      await installation.until(async () => {
        const [attention] = await attentions()
        return attention?.state === "done" && comments(attention.commit ?? "none").length > 0
      }, "the check to be mended, and the comment that says so")
    })
    const [attention, ...others] = await attentions()
    assert.lengthOf(others, 0)
    const head = origin.headOf(opened.merge_request.head_branch) ?? ""
    assert.deepInclude(attention, { state: "done", head_sha: before, commit: head })
    assert.strictEqual(origin.git("rev-parse", `${head}^`), before)
    assert.strictEqual(origin.git("show", `${head}:mended.txt`), content)
    assert.lengthOf(comments(head), 1)
    const { items } = await api.turns.list({ session_id: delivery.session_id })
    assert.deepStrictEqual(
      items.map(({ state }) => state),
      ["succeeded"]
    )
    assert.deepInclude(await api.care.get({ merge_request_id }), { state: "watching", turns: 1 })
  }
}
