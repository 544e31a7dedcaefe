import { assert } from "vitest"
import type { Installation } from "../Installation.js"
import { delivered, newName, openMergeRequest } from "../Scenes.js"
import type { Row } from "./Row.js"

/** An open merge request that was looked at. */
const openOne = async (installation: Installation) => {
  const { api, origin } = installation
  const delivery = await delivered(installation)
  const opened = await openMergeRequest(installation, delivery.id)
  await api.jobs.wait({ job_id: opened.operation.job_id })
  const merge_request_id = opened.merge_request.id
  const get = () => api.mergeRequests.get({ merge_request_id })
  await installation.until(async () => (await get()).standing != null, "the first look")
  const { number } = await get()
  const pull = origin.forge.pulls.find((each) => each.number === number) ?? assert.fail(`no pull request ${number}`)
  return { forge: origin.forge, get, merge_request_id, pull }
}

export const draftIsSetOnce: Row = {
  rule: "a merge request becomes a draft with one change on the forge, though the server was killed after it",
  play: async (installation, crash) => {
    const { forge, get, merge_request_id, pull } = await openOne(installation)
    const before = forge.seen.length
    await crash(() => installation.api.mergeRequests.setReadiness({ merge_request_id, draft: true }))
    await installation.until(async () => (await get()).draft_wanted === null, "the draft")
    assert.isTrue((await get()).draft)
    assert.isTrue(pull.draft)
    const changes = forge.seen
      .slice(before)
      .filter(({ method, path }) => method !== "GET" && /\/(?:graphql|(?:pulls|merge_requests)\/\d+)$/.test(path))
    assert.lengthOf(changes, 1)
  }
}

export const replyIsWrittenOnce: Row = {
  rule: "the words of a person are one comment, though the server was killed after it",
  play: async (installation, crash) => {
    const { forge, merge_request_id, pull } = await openOne(installation)
    const place = { path: "a.txt", line: 1, side: "new" } as const
    forge.comment({ pull: pull.number, author: "cleo", body: "Why?", place })
    await installation.api.mergeRequests.look({ merge_request_id })
    const threads = async () => (await installation.api.mergeRequests.listThreads({ merge_request_id })).items
    await installation.until(async () => (await threads()).length > 0, "the thread")
    const [thread] = await threads()
    const text = newName("Because")
    await crash(() =>
      installation.api.mergeRequests.reply({ merge_request_id, text, ...(thread && { thread_id: thread.id }) })
    )
    await installation.until(
      async () => (await threads()).some(({ comments }) => comments.length === 2),
      "the answer in its thread"
    )
    assert.lengthOf(
      forge.comments.filter(({ body }) => body.startsWith(text)),
      1
    )
  }
}
