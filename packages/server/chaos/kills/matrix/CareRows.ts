import { assert } from "vitest"
import { bothSides } from "../../agent/conflict.mjs"
import type { Installation } from "../Installation.js"
import { capture, deliver, newName, newSession, script, upload } from "../Scenes.js"
import type { Row } from "./Row.js"

/** An open merge request that a care watches. Its one file is changed by nothing else. */
const caredFor = async (
  installation: Installation,
  care: {
    readonly checks?: "fix"
    readonly conflicts?: "fix"
    readonly deliver?: "every_turn"
    readonly rerun_first?: false
  }
) => {
  const { api, origin } = installation
  const session = await newSession(installation, { repository: { url: origin.url } })
  const path = `${newName("changed").replace(" ", "-")}.txt`
  await upload(installation, session.id, { [path]: "Ours.\n" })
  const { id } = await capture(installation, session.id)
  const { delivery, operation } = await deliver(installation, id)
  await api.jobs.wait({ job_id: operation.job_id })
  const opened = await api.deliveries.openMergeRequest({
    delivery_id: delivery.id,
    title: newName("Request"),
    draft: false,
    care
  })
  await api.jobs.wait({ job_id: opened.operation.job_id })
  const { head_branch: branch, id: merge_request_id } = opened.merge_request
  const get = () => api.mergeRequests.get({ merge_request_id })
  // Opening one looks at it. The kill is to be at the look that finds something.
  await installation.until(async () => (await get()).standing != null, "the first look")
  const { number } = await get()
  const pull = origin.forge.pulls.find((pull) => pull.number === number) ?? assert.fail(`no pull request ${number}`)
  const head = () => origin.headOf(branch) ?? assert.fail(`no branch ${branch}`)
  const attentions = async () => (await api.care.listAttentions({ merge_request_id })).items
  /** The comments that tell of the commit on the head. */
  const comments = () => origin.forge.comments.filter(({ body }) => body.includes(head()))
  /** Has the merge request looked at, and waits for the end of what care does about it. */
  const cared = async () => {
    await api.mergeRequests.look({ merge_request_id })
    await installation.until(
      async () => (await attentions())[0]?.state === "done" && comments().length > 0,
      "care to be done, and the comment that says so"
    )
  }
  /** It had one turn, one commit and one comment. Ends it, so that no later look is at it. */
  const holds = async (before: string, content: readonly [path: string, text: string]) => {
    const [attention, ...others] = await attentions()
    assert.lengthOf(others, 0)
    const [now, ours] = [head(), comments()]
    assert.deepInclude(attention, { state: "done", head_sha: before, commit: now })
    assert.strictEqual(origin.git("show", `${now}:${content[0]}`), content[1].trim())
    // The one commit has the head of before as its first parent.
    assert.strictEqual(origin.git("rev-list", "--count", "--first-parent", `${before}..${now}`), "1")
    assert.strictEqual(origin.git("rev-parse", `${now}^`), before)
    assert.lengthOf(ours, 1)
    const { items } = await api.turns.list({ session_id: session.id })
    assert.deepStrictEqual(
      items.map(({ state }) => state),
      ["succeeded"]
    )
    assert.deepInclude(await api.care.get({ merge_request_id }), { state: "watching", turns: 1 })
    pull.state = "closed"
    await api.mergeRequests.look({ merge_request_id })
    await installation.until(async () => (await get()).state === "closed", "the end of the merge request")
    return attention ?? assert.fail("no attention")
  }
  return { attentions, before: head(), branch, cared, comments, head, holds, merge_request_id, path, session }
}

export const redCheckHasOneTurn: Row = {
  rule: "a red check has one turn, one commit and one comment",
  series: "care",
  play: async (installation, crash) => {
    const { before, cared, holds } = await caredFor(installation, { checks: "fix", rerun_first: false })
    const content = newName("Mended")
    // The scripted model does what its prompt holds last, which is the log.
    const log = `red ${script([{ tool: "write", path: "mended.txt", content }, { say: "Mended." }])}`
    installation.origin.forge.check({ head: before, name: "test", state: "failed", log })
    await crash(cared)
    await holds(before, ["mended.txt", content])
  }
}

export const conflictHasOneTurn: Row = {
  rule: "a conflict has one turn, one merge of the base that was kept first, and one comment",
  series: "care",
  play: async (installation, crash) => {
    const { origin } = installation
    const { attentions, before, cared, holds, path } = await caredFor(installation, { conflicts: "fix" })
    // The uploaded file does not stay, because the model resolves the conflict in it.
    installation.ledger.forget(path)
    origin.forge.odd.conflicts = "by_git"
    let base = ""
    const kept = () =>
      installation.until(async () => (await attentions())[0]?.base_sha != null, "the commit of the base to be kept")
    await crash(async () => {
      origin.commitOn("main", path, "Theirs.\n")
      const caring = cared()
      // Nobody looks at its failure before the base branch has moved on.
      caring.catch(() => {})
      await kept()
      base = (await attentions())[0]?.base_sha ?? ""
      // The server that goes on after the kill finds another commit there.
      origin.commitOn("main", `${path}.later`, "Later.\n")
      await caring
    })
    const attention = await holds(before, [path, bothSides])
    assert.strictEqual(attention.base_sha, base)
    assert.deepStrictEqual(origin.git("log", "-1", "--format=%P", attention.commit ?? "").split(" "), [before, base])
  }
}

export const everyTurnIsOneCommit: Row = {
  rule: "each turn of a person is one commit, without a comment",
  series: "care",
  play: async (installation, crash) => {
    const { api, origin } = installation
    const { attentions, before, branch, comments, head, merge_request_id, session } = await caredFor(installation, {
      deliver: "every_turn"
    })
    const [first, second] = [newName("First"), newName("Second")]
    const delivered = async (content: string, count: number) => {
      const steps = [{ tool: "write", path: "every.txt", content }, { say: "Written." }]
      await api.messages.send({ session_id: session.id, content: script(steps) })
      await installation.until(async () => {
        const all = await attentions()
        return all.length === count && all.every(({ state }) => state === "done")
      }, "the turn to be delivered")
    }
    await crash(() => delivered(first, 1))
    await delivered(second, 2)
    assert.strictEqual(origin.git("rev-list", "--count", "--first-parent", `${before}..${branch}`), "2")
    assert.deepStrictEqual(
      [`${branch}^`, branch].map((commit) => origin.git("show", `${commit}:every.txt`)),
      [first, second]
    )
    assert.deepStrictEqual(
      (await attentions()).map(({ commit }) => commit),
      [head(), origin.git("rev-parse", `${branch}^`)]
    )
    assert.lengthOf(comments(), 0)
    assert.deepInclude(await api.care.get({ merge_request_id }), { state: "watching", turns: 0 })
    await api.care.remove({ merge_request_id })
  }
}
