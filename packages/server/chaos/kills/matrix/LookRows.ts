import { Schema } from "effect"
import { assert } from "vitest"
import { delivered, openMergeRequest } from "../Scenes.js"
import type { Row } from "./Row.js"

const Told = Schema.Struct({ type: Schema.String })

export const lookIsWrittenOnce: Row = {
  rule: "what a look has found is written whole and told once, though its server was killed in it",
  play: async (installation, crash) => {
    const delivery = await delivered(installation)
    const opened = await openMergeRequest(installation, delivery.id)
    await installation.api.jobs.wait({ job_id: opened.operation.job_id })
    const merge_request_id = opened.merge_request.id
    const read = () => installation.api.mergeRequests.get({ merge_request_id })
    await installation.until(async () => (await read()).standing != null, "the first look")
    const head = delivery.commit ?? ""
    installation.origin.forge.check({ head, name: "build", state: "failed" })
    installation.origin.forge.check({ head, name: "lint", state: "passed" })
    await crash(() => installation.api.mergeRequests.look({ merge_request_id }))
    await installation.until(async () => (await read()).standing?.checks.state === "failing", "the look")
    assert.deepInclude((await read()).standing?.checks, { head_sha: head, passing: 1, failing: 1, pending: 0 })
    const { items } = await installation.api.mergeRequests.listChecks({ merge_request_id })
    assert.sameMembers(
      items.map(({ name, state }) => `${name} ${state}`),
      ["build failing", "lint passing"]
    )
    const told = await installation.records.all(
      Told,
      `select type from events where session_id = '${opened.merge_request.session_id}' and type = 'merge_request.checks_changed'`
    )
    assert.lengthOf(told, 1)
    await installation.api.mergeRequests.look({ merge_request_id })
  }
}
