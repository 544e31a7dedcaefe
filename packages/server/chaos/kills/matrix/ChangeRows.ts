import { assert } from "vitest"
import { followUpKills } from "../../Volume.js"
import {
  capture,
  changeOfRepository,
  deliver,
  delivered,
  newName,
  openMergeRequest,
  sessionWithFiles,
  upload
} from "../Scenes.js"
import { type Attempts, again, holdsAttempts, type Row } from "./Row.js"

export const captureIsSealedOnce = (attempts: Attempts): Row => ({
  rule: "a capture that was asked for is sealed, once",
  play: async (installation, crash) => {
    const session = await sessionWithFiles(installation, { "a.txt": "a\n", "b/c.txt": "c\n" })
    const { changeset, operation } = await crash(() =>
      installation.api.sessions.capture({ session_id: session.id, label: newName("Capture") })
    )
    const sealed = await installation.api.changesets.get({ changeset_id: changeset.id })
    assert.deepStrictEqual(
      [sealed.state, ...sealed.files.map((file) => file.path)],
      ["ready", "a.txt", "b/c.txt"],
      JSON.stringify(sealed)
    )
    const { content } = await installation.api.changesets
      .listFiles({ changeset_id: changeset.id, path: "b/c.txt" })
      .then(contentOf)
    assert.strictEqual(content, "c\n")
    await holdsAttempts(installation, operation, attempts)
  }
})

const contentOf = <A extends object>(answer: A): { readonly content: unknown } =>
  "content" in answer ? { content: answer.content } : { content: undefined }

export const changesetIsAppliedOnce = (attempts: Attempts): Row => ({
  rule: "a changeset is applied whole, and says all that it changed",
  play: async (installation, crash) => {
    const source = await sessionWithFiles(installation, { "a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n" })
    const target = await sessionWithFiles(installation, { "own.txt": "own\n" })
    const changeset = await capture(installation, source.id)
    const { application, operation } = await crash(() =>
      installation.api.changesets.apply({ changeset_id: changeset.id, target_session_id: target.id })
    )
    const applied = await installation.api.applications.get({ application_id: application.id })
    assert.deepInclude(applied, { state: "applied", conflicts: [], changed: ["a.txt", "b.txt", "c.txt"] })
    const { items } = await installation.api.sessions.listFiles({ session_id: target.id })
    assert.sameMembers(
      items.map((file) => file.name),
      ["a.txt", "b.txt", "c.txt", "own.txt"]
    )
    await holdsAttempts(installation, operation, attempts)
  }
})

export const branchIsPushedOnce = (attempts: Attempts): Row => ({
  rule: "a branch is pushed, once, and the delivery says so",
  play: async (installation, crash) => {
    const changeset = await changeOfRepository(installation)
    const { delivery, operation } = await crash(() => deliver(installation, changeset.id))
    const end = await installation.api.deliveries.get({ delivery_id: delivery.id })
    assert.strictEqual(end.state, "succeeded", JSON.stringify(end))
    const pushes = end.steps.filter((step) => step.kind === "push")
    assert.isTrue(pushes.length > 0 && pushes.every((step) => step.outcome === "succeeded"), JSON.stringify(end.steps))
    await holdsAttempts(installation, operation, attempts)
  }
})

export const followUpIsOneCommit = (attempts: Attempts): Row => ({
  rule: `a delivery onto the head is one commit on top of it, over commits of people too, ${followUpKills} of ${followUpKills}`,
  play: async (installation, crash) => {
    const { api, origin } = installation
    const first = await delivered(installation)
    const { session_id, target_ref: branch } = first
    for (let kill = 1; kill <= followUpKills; kill++) {
      const before = origin.headOf(branch) ?? ""
      const top = kill % 2 === 0 ? before : origin.commitOn(branch, `theirs-${kill}.txt`, newName("Theirs"))
      const content = newName("Changed again")
      await upload(installation, session_id, { "changed.txt": content })
      const { id } = await capture(installation, session_id)
      const { delivery, operation } = await crash(() => deliver(installation, id, { onto: "head" }))
      const end = await api.deliveries.get({ delivery_id: delivery.id })
      assert.deepInclude(end, { state: "succeeded", onto: "head", target_ref: branch }, JSON.stringify(end))
      assert.strictEqual(origin.headOf(branch), end.commit ?? "no commit")
      assert.deepStrictEqual(origin.git("rev-parse", `${end.commit}^@`).split("\n"), [top])
      assert.strictEqual(origin.git("show", `${branch}:changed.txt`), content)
      await holdsAttempts(installation, operation, attempts)
    }
  }
})

export const mergeRequestIsOpenedOnce = (attempts: Attempts): Row => ({
  rule: "a merge request is opened, once, and is known as our own",
  play: async (installation, crash) => {
    const { id } = await delivered(installation)
    const { merge_request, operation } = await crash(() => openMergeRequest(installation, id))
    const request = await installation.api.mergeRequests.get({ merge_request_id: merge_request.id })
    assert.deepInclude(request, { state: "open", adopted: false })
    await holdsAttempts(installation, operation, attempts)
  }
})

export const mergeRequestIsMergedOnce: Row = {
  rule: "a merge request is merged, once, and says so",
  play: async (installation, crash) => {
    const delivery = await delivered(installation)
    const opened = await openMergeRequest(installation, delivery.id)
    await installation.api.jobs.wait({ job_id: opened.operation.job_id })
    const { merge_request, operation } = await crash(() =>
      installation.api.mergeRequests.merge({
        merge_request_id: opened.merge_request.id,
        expected_head_sha: delivery.commit ?? ""
      })
    )
    const request = await installation.api.mergeRequests.get({ merge_request_id: merge_request.id })
    assert.strictEqual(request.state, "merged", JSON.stringify(request))
    await holdsAttempts(installation, operation, again)
  }
}

export const heldConditionsMergeOnce: Row = {
  rule: "a merge request whose conditions hold is merged, once, by itself",
  play: async (installation, crash) => {
    const delivery = await delivered(installation)
    const { merge_request, operation } = await openMergeRequest(installation, delivery.id)
    await installation.api.jobs.wait({ job_id: operation.job_id })
    const { id: merge_request_id } = merge_request
    await crash(() => installation.api.mergeRequests.setConditions({ merge_request_id, checks: "none" }))
    const request = await installation.api.mergeRequests.get({ merge_request_id })
    assert.strictEqual(request.state, "merged", JSON.stringify(request))
    assert.strictEqual(request.conditions?.state, "merged")
  }
}

export const fileIsUploaded: Row = {
  rule: "an upload that expected no file is there, though it was written before it was answered",
  play: async (installation, crash) => {
    const session = await sessionWithFiles(installation, { "a.txt": "a\n" })
    const input = { session_id: session.id, path: "new.txt", content: "new\n", expected_digest: "absent" }
    const { file } = await crash(() => installation.api.sessions.uploadFile(input))
    assert.strictEqual(file.size, 4)
    await upload(installation, session.id, { "a.txt": "next\n" })
  }
}
